/*
 * One table of options makes the parser, the errors and the help of a program. Pure: printing goes
 * to a stream that the caller brings.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "values.h"

/* A table ends with a row without name. */
struct option_row {
    const char *name;
    const struct value_kind *kind;
    size_t offset; /* of the value in the target struct */
    const char *help;
};

/*
 * Reads the arguments behind argv[0] into `target`, which holds the defaults. What is no option is
 * moved to the front of argv, and the number of these operands is returned.
 * Errors: -EINVAL, -ENOMEM, each with a line that names option and value.
 */
int options_parse(const struct option_row *rows, void *target, int argc, char **argv,
                  struct riptide_error *error);

/* A line for each option, with the value that `defaults` has for it. */
void options_print_help(FILE *out, const struct option_row *rows, const void *defaults);

/* All that is set, in one line: "interval 1s, ttl 90s". */
void options_print_values(FILE *out, const struct option_row *rows, const void *target);

#endif
