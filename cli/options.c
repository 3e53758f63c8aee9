/* SPDX-License-Identifier: MIT */
/*
 * Parses options by a program's table. Not getopt_long(3): it accepts abbreviations, which break
 * scripts when a new option has the same first letters, and has its own error texts.
 */
#include "options.h"

#include "text.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

void options_say(struct riptide_error *error, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(error->text, sizeof(error->text), format, args);
    va_end(args);
}

static int fail(struct riptide_error *error, int code, const char *option, const char *value,
                const char *reason)
{
    options_say(error, "%.60s%s%.60s: %s", option, value ? " " : "", value ? value : "", reason);
    return code;
}

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

/* Reads the option at argv[i], and its value at argv[i + 1] if needed. Returns how many it used. */
static int parse_one(const struct option_row *rows, void *target, int i, int argc, char **argv,
                     bool *given, struct riptide_error *error)
{
    char *value = strchr(argv[i], '=');
    const char *text = name_of(argv[i]);
    const struct option_row *row = options_find(rows, text, strcspn(text, "="));
    char name[64];
    int taken = 1;
    int r;

    if (!row)
        return fail(error, -EINVAL, argv[i], NULL, "unknown option (--help lists them)");
    snprintf(name, sizeof(name), "--%s", row->name);
    if (value)
        value++;
    /* The command line can switch off what a file switches on. */
    if (!row->kind->argument && value && !row->section)
        return fail(error, -EINVAL, name, value, "takes no value");
    if (row->kind->argument && !value) {
        if (i + 1 == argc)
            return fail(error, -EINVAL, name, row->kind->argument, "the value is missing");
        value = argv[i + 1];
        taken = 2;
    }
    if (!given[row - rows])
        value_clear(row->kind, (char *)target + row->offset);
    r = value_parse(row->kind, (char *)target + row->offset, value);
    if (r < 0)
        return fail(error, r, name, value, r == -EINVAL ? row->kind->expected : strerror(-r));
    given[row - rows] = true;
    return taken;
}

int options_parse(const struct option_row *rows, void *target, int argc, char **argv,
                  struct riptide_error *error)
{
    bool given[OPTIONS_MAX_ROWS] = { false };
    int n_operands = 0;
    int i = 1;

    while (i < argc) {
        int taken;

        if (!strcmp(argv[i], "--")) {
            i++;
            break;
        }
        if (argv[i][0] != '-' || !argv[i][1]) {
            argv[n_operands++] = argv[i++];
            continue;
        }
        taken = parse_one(rows, target, i, argc, argv, given, error);
        if (taken < 0)
            return taken;
        i += taken;
    }
    while (i < argc)
        argv[n_operands++] = argv[i++];
    return n_operands;
}

void options_print_help(FILE *out, const struct option_row *rows)
{
    enum { INDENT = 30 };

    for (; rows->name; rows++) {
        fprintf(out, "  --%s %-*s  ", rows->name, INDENT - 7 - (int)strlen(rows->name),
                rows->kind->argument ? rows->kind->argument : "");
        text_wrap(out, INDENT, rows->help);
    }
}
