/* SPDX-License-Identifier: MIT */
/*
 * One table of options for the parser, the errors and the help of a program. Pure: prints to a
 * stream of the caller.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "values.h"

#include <stdio.h>

/* One option, and if it has a field, a key of the configuration. A table ends with a nameless row. */
struct option_row {
    const char *name;
    const struct value_kind *kind;
    size_t offset;     /* of the value in the target struct */
    const char *help;  /* its default is at the end, in brackets */
    const char *field; /* its path in the target, as errors of the library name it */
};

/* Writes the line, and cuts one that is longer than the text. Returns -EINVAL. */
int options_refuse(struct riptide_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Reads the arguments after argv[0] into `target`, which has the defaults. Moves operands to the
 * front of argv, and returns their number; -EINVAL, with a line that names option and value.
 */
int options_parse(const struct option_row *rows, void *target, int argc, char **argv,
                  struct riptide_error *error);

/* The row of that name, or NULL. */
const struct option_row *options_find(const struct option_row *rows, const char *name, size_t len);

/* A line for each option. */
void options_print_help(FILE *out, const struct option_row *rows);

#endif
