/* SPDX-License-Identifier: MIT */
/*
 * The options of a program from its table. No getopt_long(3): it takes abbreviations, which break
 * scripts as soon as a new option shares the first letters, and words its own errors.
 */
#include "options.h"

#include "lib/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int fail(struct riptide_error *error, int code, const char *option, const char *value,
                const char *reason)
{
    error_set(error, "%s%s%s: %s", option, value ? " " : "", value ? value : "", reason);
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

/* Options and keys of earlier versions, and some of their values. Reasons: docs/decisions.md. */
static const struct {
    const char *name, *instead;
} gone[] = {
    { "capacity-fraction", "policy careful bounds its own growth" },
    { "closed-weight", "--destroy-events=no leaves closed connections out" },
    { "drop-share", "policy careful follows losses at once" },
    { "evidence", "evidence counts as long as policies say" },
    { "interface", "--scope, --local-port and --remote-port choose connections" },
    { "metrics-interval", "`riptide metrics` has the figures of now" },
    { "metrics-prefix", "`riptide show PREFIX --json` has the windows within a prefix" },
    { "paced", "policy careful learns from losses what may leave at once" },
    { "percentile", "policy paper is the mean" },
    { "policy max", "careful takes its place" },
    { "policy mean", "paper is the same" },
    { "policy min", "careful takes its place" },
    { "policy percentile", "paper takes its place" },
    { "policy traffic", "paper takes its place" },
    { "slices", "--max-share bounds the time of dumps" },
    { "smoothing", "each policy has its own" },
    { "socket-mark", "--scope, --local-port and --remote-port choose connections" },
    { "step-percent", "small moves are not written" },
    { "step-segments", "small moves are not written" },
    { "window", "--history-weight is how much history counts" },
    { "window-percentile", "--history-weight is how much history counts" },
};

const char *gone_find(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++) {
        if (strlen(gone[i].name) == len && !memcmp(gone[i].name, name, len))
            return gone[i].instead;
    }
    return NULL;
}

const char *option_gone(const struct option_row *row, const char *text)
{
    static char line[96];
    const char *instead;

    snprintf(line, sizeof(line), "%s %s", row->name, text);
    instead = gone_find(line, strlen(line));
    if (!instead)
        return "";
    snprintf(line, sizeof(line), "; it is gone: %s", instead);
    return line;
}

static int fail_value(struct riptide_error *error, const struct option_row *row, const char *name,
                      const char *value, int code)
{
    char reason[160];

    if (code != -EINVAL)
        return fail(error, code, name, value, strerror(-code));
    snprintf(reason, sizeof(reason), "%s%s", row->kind->expected,
             value ? option_gone(row, value) : "");
    return fail(error, code, name, value, reason);
}

/* Reads the option at argv[i], and argv[i + 1] if that is its value. Returns how many it took. */
static int parse_one(const struct option_row *rows, void *target, int i, int argc, char **argv,
                     bool *given, struct riptide_error *error)
{
    char *value = strchr(argv[i], '=');
    /* The one letter that everybody tries first. */
    const char *text = strcmp(argv[i], "-h") ? argv[i] + 2 : "help";
    const struct option_row *row = options_find(rows, text, strcspn(text, "="));
    const char *instead = gone_find(text, strcspn(text, "="));
    char name[64], reason[96];
    int taken = 1;
    int r;

    if (!row && instead && argv[i][1] == '-') {
        snprintf(reason, sizeof(reason), "is gone: %s", instead);
        return fail(error, -EINVAL, argv[i], NULL, reason);
    }
    if (!row || (argv[i][1] != '-' && strcmp(argv[i], "-h")))
        return fail(error, -EINVAL, argv[i], NULL, "unknown option (--help lists them)");
    snprintf(name, sizeof(name), "--%s", row->name);
    if (value)
        value++;
    /* What a file can switch on, the command line can switch off. */
    if (!row->kind->argument && value && !row->section)
        return fail(error, -EINVAL, name, value, "takes no value");
    if (row->kind->argument && !value) {
        if (i + 1 == argc)
            return fail(error, -EINVAL, name, row->kind->argument, "the value is missing");
        value = argv[i + 1];
        taken = 2;
    }
    if (given && !given[row - rows] && row->kind->clear)
        row->kind->clear((char *)target + row->offset);
    r = row->kind->parse((char *)target + row->offset, value);
    if (r < 0)
        return fail_value(error, row, name, value, r);
    if (given)
        given[row - rows] = true;
    return taken;
}

int options_parse(const struct option_row *rows, void *target, int argc, char **argv, bool *given,
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
        taken = parse_one(rows, target, i, argc, argv, given, error);
        if (taken < 0)
            return taken;
        i += taken;
    }
    while (i < argc)
        argv[n_operands++] = argv[i++];
    return n_operands;
}

char *option_print(const struct option_row *row, const void *target)
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
        char *value = rows->is_unset ? NULL : option_print(rows, defaults);

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
        char *value = option_print(rows, target);

        if (value && *value) {
            fprintf(out, "%s%s %s", separator, rows->name, value);
            separator = ", ";
        }
        free(value);
    }
}
