/*
 * The options of a program from its table. No getopt_long(3): it takes abbreviations, which break
 * scripts as soon as a new option shares the first letters, and words its own errors.
 */
#include "options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int fail(struct riptide_error *error, int code, const char *option, const char *value,
                const char *reason)
{
    snprintf(error->text, sizeof(error->text), "%s%s%s: %s", option, value ? " " : "",
             value ? value : "", reason);
    return code;
}

/* `name` may go on with "=value". */
static const struct option_row *find_row(const struct option_row *rows, const char *name)
{
    size_t len = strcspn(name, "=");

    for (; rows->name; rows++) {
        if (strlen(rows->name) == len && !memcmp(rows->name, name, len))
            return rows;
    }
    return NULL;
}

/* Reads the option at argv[i], and argv[i + 1] if that is its value. Returns how many it took. */
static int parse_one(const struct option_row *rows, void *target, int i, int argc, char **argv,
                     struct riptide_error *error)
{
    char *value = strchr(argv[i], '=');
    const struct option_row *row;
    char name[64];
    int taken = 1;
    int r;

    /* The one letter that everybody tries first. */
    row = find_row(rows, strcmp(argv[i], "-h") ? argv[i] + 2 : "help");
    if (!row || (argv[i][1] != '-' && strcmp(argv[i], "-h")))
        return fail(error, -EINVAL, argv[i], NULL, "unknown option (--help lists them)");
    snprintf(name, sizeof(name), "--%s", row->name);
    if (value)
        value++;
    if (!row->kind->argument && value)
        return fail(error, -EINVAL, name, value, row->kind->expected);
    if (row->kind->argument && !value) {
        if (i + 1 == argc)
            return fail(error, -EINVAL, name, row->kind->argument, "the value is missing");
        value = argv[i + 1];
        taken = 2;
    }
    r = row->kind->parse((char *)target + row->offset, value);
    if (r < 0)
        return fail(error, r, name, value, r == -EINVAL ? row->kind->expected : strerror(-r));
    return taken;
}

int options_parse(const struct option_row *rows, void *target, int argc, char **argv,
                  struct riptide_error *error)
{
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
        taken = parse_one(rows, target, i, argc, argv, error);
        if (taken < 0)
            return taken;
        i += taken;
    }
    while (i < argc)
        argv[n_operands++] = argv[i++];
    return n_operands;
}

/* The value as text, empty if it is not set; NULL without memory. */
static char *print_value(const struct option_row *row, const void *target)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    row->kind->print(out, (const char *)target + row->offset);
    if (fclose(out)) {
        free(text);
        return NULL;
    }
    return text;
}

void options_print_help(FILE *out, const struct option_row *rows, const void *defaults)
{
    for (; rows->name; rows++) {
        const char *argument = rows->kind->argument ? rows->kind->argument : "";
        char *value = print_value(rows, defaults);

        fprintf(out, "  --%s %-*s  %s", rows->name, (int)(22 - strlen(rows->name)), argument,
                rows->help);
        if (value && *value)
            fprintf(out, " (default %s)", value);
        fputc('\n', out);
        free(value);
    }
}

void options_print_values(FILE *out, const struct option_row *rows, const void *target)
{
    const char *separator = "";

    for (; rows->name; rows++) {
        char *value = print_value(rows, target);

        if (value && *value) {
            fprintf(out, "%s%s %s", separator, rows->name, value);
            separator = ", ";
        }
        free(value);
    }
}
