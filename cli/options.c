/* SPDX-License-Identifier: MIT */
/*
 * Parses options by a program's table. Not getopt_long(3): it accepts abbreviations, which break
 * scripts when a new option has the same first letters, and has its own error texts.
 */
#include "options.h"

#include "text.h"

#include <errno.h>
#include <string.h>

const struct option_row *options_find(const struct option_row *rows, const char *name, size_t len)
{
    for (; rows->name; rows++) {
        if (strlen(rows->name) == len && !memcmp(rows->name, name, len))
            return rows;
    }
    return NULL;
}

/* The text from the name on; the usual short forms are of two options. */
static const char *name_of(const char *argument)
{
    if (!strcmp(argument, "-h"))
        return "help";
    if (!strcmp(argument, "-v"))
        return "verbose";
    return argument[1] == '-' ? argument + 2 : "";
}

int options_set(const struct option_row *row, const char *dashes, void *target, const char *value,
                struct riptide_error *error)
{
    int r = row->kind->parse((char *)target + row->offset, value);

    if (r == 0)
        return 0;
    return refuse(error, -EINVAL, "%s%s%s%.60s: %s", dashes, row->name, *value ? " " : "", value,
                  r == -EINVAL ? row->kind->expected : strerror(-r));
}

/* Reads the option at argv[0], and its value there or at argv[1]. Returns how many it used. */
static int parse_one(const struct option_row *rows, void *target, uint64_t *given, char **argv,
                     struct riptide_error *error)
{
    const char *text = name_of(argv[0]), *value = strchr(text, '=');
    const struct option_row *row = options_find(rows, text, strcspn(text, "="));
    int n_used = 1, r;

    if (!row)
        return refuse(error, -EINVAL, "%.60s: unknown option (--help lists them)", argv[0]);
    if (value && !row->kind->argument)
        return refuse(error, -EINVAL, "--%s %.60s: takes no value", row->name, value + 1);
    if (value) {
        value++;
    } else if (!row->kind->argument) {
        value = "yes";
    } else {
        value = argv[1];
        n_used = 2;
    }
    if (!value)
        return refuse(error, -EINVAL, "--%s %s: the value is missing", row->name,
                      row->kind->argument);
    *given |= UINT64_C(1) << (row - rows);
    r = options_set(row, "--", target, value, error);
    return r < 0 ? r : n_used;
}

int options_parse(const struct option_row *rows, void *target, uint64_t *given, int argc,
                  char **argv, struct riptide_error *error)
{
    int n_operands = 0, i = 1;

    error->text[0] = '\0';
    while (i < argc && strcmp(argv[i], "--") != 0) {
        int n_used;

        if (argv[i][0] != '-' || !argv[i][1]) {
            argv[n_operands++] = argv[i++];
            continue;
        }
        n_used = parse_one(rows, target, given, argv + i, error);
        if (n_used < 0)
            return n_used;
        i += n_used;
    }
    for (i++; i < argc; i++)
        argv[n_operands++] = argv[i];
    return n_operands;
}

void options_print_help(const struct option_row *row)
{
    enum { INDENT = 30 };

    printf("  --%s %-*s  ", row->name, INDENT - 7 - (int)strlen(row->name),
           row->kind->argument ? row->kind->argument : "");
    text_wrap(stdout, INDENT, row->help);
}
