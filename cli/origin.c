/* SPDX-License-Identifier: MIT */
/* The origin of settings, and their changes, as text. */
#include "settings.h"

#include "lib/internal.h"
#include "lib/tools.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void settings_describe_origin(const struct settings *settings, const struct option_row *row,
                              FILE *out)
{
    if (settings->given[row - settings_rows])
        fputs("command line", out);
    else if (settings->lines[row - settings_rows])
        fprintf(out, "%s:%d", settings->file, settings->lines[row - settings_rows]);
    else if (row->offset == offsetof(struct settings, state) && settings->state_of_unit)
        fputs("STATE_DIRECTORY of the environment", out);
    else
        fputs("default", out);
}

/* The library has some fields of settings in another stage, or in none. */
static const char *skip_stage(const char *field)
{
    const char *dot = strchr(field, '.');

    return dot ? dot + 1 : field;
}

/* The row of a field, which may be an element of a list. */
static const struct option_row *find_row(const struct option_row *rows, const char *field)
{
    const char *name = skip_stage(field);
    size_t len = strcspn(name, "[");

    for (const struct option_row *row = rows; row->name; row++) {
        const char *own = row->field ? skip_stage(row->field) : "";

        if (strlen(own) == len && !strncmp(own, name, len))
            return row;
    }
    return NULL;
}

/* "FILE:LINE: key", or the option. */
static void print_row(FILE *out, const struct settings *settings, const struct option_row *row)
{
    int line = settings->lines[row - settings_rows];

    if (!settings->file || settings->given[row - settings_rows])
        fprintf(out, "--%s", row->name);
    else if (line)
        fprintf(out, "%s:%d: %s", settings->file, line, row->name);
    else
        fprintf(out, "%s: %s", settings->file, row->name);
}

static void print_override(FILE *out, const struct settings *settings, size_t i, const char *field)
{
    const struct override_lines *lines = &settings->override_lines[i];
    const struct option_row *row = find_row(override_rows, field);
    int line = row ? lines->keys[row - override_rows] : 0;
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];

    riptide_prefix_format(&settings->overrides[i].dst, dst);
    fprintf(out, "%s:%d: [" PREFIX_SECTION " %s] %s", settings->file, line ? line : lines->section,
            dst, row ? row->name : field);
}

void settings_explain_refusal(const struct settings *settings, struct riptide_error *error)
{
    static const char hints[] = "estimator.hints";
    const size_t n = sizeof(hints) - 1;
    const struct riptide_error given = *error;
    const char *field = given.field ? given.field : "";
    const char *of_hint = strncmp(field, hints, n) ? NULL : field + n;
    const struct option_row *row = find_row(settings_rows, field);
    char *text = NULL;
    size_t size;
    FILE *out = row || of_hint ? open_memstream(&text, &size) : NULL;

    if (!out)
        return;
    if (row)
        print_row(out, settings, row);
    else if ((size_t)given.index < settings->n_overrides)
        print_override(out, settings, (size_t)given.index, skip_stage(of_hint));
    else
        fprintf(out, "%s: sections for prefixes", settings->file);
    /* The text after the field's name, which contains no blanks or colons. */
    fputs(given.text + strcspn(given.text, ": "), out);
    if (fclose(out) == 0)
        error_set(error, "%s", text);
    error->field = given.field;
    error->index = given.index;
    free(text);
}

void settings_drop_refused(struct settings *settings, const struct riptide_error *refusal)
{
    const struct option_row *row = find_row(settings_rows, refusal->field ? refusal->field : "");
    const size_t i = (size_t)refusal->index, n = settings->n_overrides;
    struct settings defaults;

    if (row && row->kind->form == VALUE_LIST) {
        value_clear(row->kind, (char *)settings + row->offset);
    } else if (row) {
        settings_init(&defaults);
        memcpy((char *)settings + row->offset, (const char *)&defaults + row->offset,
               row->kind->bytes);
    } else if (i < n) {
        memmove(&settings->overrides[i], &settings->overrides[i + 1],
                (n - i - 1) * sizeof(settings->overrides[0]));
        memmove(&settings->override_lines[i], &settings->override_lines[i + 1],
                (n - i - 1) * sizeof(settings->override_lines[0]));
        settings->n_overrides--;
    }
    settings_link(settings);
}

/* Call it if both have as many. */
static bool are_overrides_changed(const struct settings *from, const struct settings *to)
{
    return to->n_overrides > 0 &&
           memcmp(from->overrides, to->overrides, to->n_overrides * sizeof(to->overrides[0])) != 0;
}

int settings_compare(const struct settings *from, const struct settings *to, FILE *out,
                     struct riptide_error *error)
{
    const char *separator = "";
    int r = 0;

    for (const struct option_row *row = settings_rows; row->name; row++) {
        char *before = option_print(row, from), *after = option_print(row, to);
        /* A directory may have several names. */
        bool is_changed = before && after && strcmp(before, after) &&
                          (row->kind != &value_directory || !riptide_paths_are_same(before, after));

        if (is_changed) {
            fprintf(out, "%s%s %s -> %s", separator, row->name, *before ? before : "nothing",
                    *after ? after : "nothing");
            separator = ", ";
        }
        if (is_changed && row->is_fixed && r == 0) {
            error_set(error, "%s: %s; it cannot change from %s while riptided runs, restart it",
                      row->name, *after ? after : "nothing", *before ? before : "nothing");
            error->field = row->field;
            settings_explain_refusal(to, error);
            r = -EBUSY;
        }
        free(before);
        free(after);
    }
    if (from->n_overrides != to->n_overrides)
        fprintf(out, "%ssections for prefixes %zu -> %zu", separator, from->n_overrides,
                to->n_overrides);
    else if (are_overrides_changed(from, to))
        fprintf(out, "%ssections for prefixes changed", separator);
    return r;
}
