/* SPDX-License-Identifier: MIT */
/*
 * One table of options makes the parser, the errors and the help of a program. Pure: printing goes
 * to a stream that the caller brings.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "values.h"

/*
 * One option, and where it has a section, one key of the configuration file as well. Parser, help,
 * man pages and completion are made from these rows. A table ends with a row without name.
 */
struct option_row {
    const char *name;
    const struct value_kind *kind;
    size_t offset; /* of the value in the target struct */
    const char *help;
    const char *section; /* of the file; NULL: an option alone */
    bool is_fixed;       /* cannot change while the program runs */
    bool is_unset;       /* until it is given: what is there before is no default */
    const char *field;   /* its path in the target, as errors of the library name it; or NULL */
};

/*
 * Reads the arguments behind argv[0] into `target`, which holds the defaults. What is no option is
 * moved to the front of argv, and the number of these operands is returned. `given` has a place for
 * each row, false at first: it becomes true, and what a list had until then goes. NULL: not wanted.
 * Errors: -EINVAL, -ENOMEM, each with a line that names option and value.
 */
int options_parse(const struct option_row *rows, void *target, int argc, char **argv, bool *given,
                  struct riptide_error *error);

/* The row of that name, or NULL. */
const struct option_row *options_find(const struct option_row *rows, const char *name, size_t len);

/* The value as text, empty if it is not set; NULL without memory. The caller's to free. */
char *option_print(const struct option_row *row, const void *target);

/* A line for each option, with the value that `defaults` has for it. */
void options_print_help(FILE *out, const struct option_row *rows, const void *defaults);

/* All that is set, in one line: "interval 1s, ttl 90s". */
void options_print_values(FILE *out, const struct option_row *rows, const void *target);

#endif
