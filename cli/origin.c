/* SPDX-License-Identifier: MIT */
/*
 * Where settings come from, and what changes between two of them: the words for it.
 */
#include "settings.h"

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

/* The letters of keys and of the library's fields. */
static const char field_letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";

/* The row of the library's field at the begin of `text`: options bring their unit with them. */
static const struct option_row *find_field(const struct option_row *rows, const char *text)
{
    char name[64];
    size_t len = strspn(text, field_letters);
    const struct option_row *row;

    if (len == 0 || len >= sizeof(name))
        return NULL;
    for (size_t i = 0; i < len; i++) {
        name[i] = text[i];
        if (name[i] == '_')
            name[i] = '-';
    }
    row = options_find(rows, name, len);
    if (!row && len > 3 && name[len - 3] == '-' && name[len - 1] == 's')
        row = options_find(rows, name, len - 3);
    return row;
}

/* The line of the row, or of another one that the text about it names: a default is not wrong. */
static int find_line(const struct settings *settings, const char *text)
{
    while (*text) {
        const struct option_row *row = find_field(settings_rows, text);

        if (row && settings->lines[row - settings_rows])
            return settings->lines[row - settings_rows];
        text += strspn(text, field_letters);
        text += strcspn(text, field_letters);
    }
    return 0;
}

/* What begins the line about a row. */
static void print_place(const struct settings *settings, const struct option_row *row,
                        const char *text, FILE *out)
{
    int line = find_line(settings, text);

    if (!settings->file || settings->given[row - settings_rows])
        fputs("--", out);
    else if (line)
        fprintf(out, "%s:%d: ", settings->file, line);
    else
        fprintf(out, "%s: ", settings->file);
}

/* Fields as the keys that they are here. */
static void print_fields(const struct option_row *rows, const char *text, FILE *out)
{
    while (*text) {
        const struct option_row *row = find_field(rows, text);
        size_t n = strspn(text, field_letters);

        if (row)
            fputs(row->name, out);
        else
            fwrite(text, 1, n > 0 ? n : 1, out);
        text += n > 0 ? n : 1;
    }
}

/* Behind `begin`, where the text begins with it. */
static const char *skip(const char *text, const char *begin)
{
    size_t len = strlen(begin);

    return strncmp(text, begin, len) ? text : text + len;
}

/* An agent names fields of its stages' configurations by their paths. */
static const char *skip_stage(const char *text)
{
    return skip(skip(skip(text, "observer."), "estimator."), "router.");
}

size_t settings_find_refused_override(const struct settings *settings, const char *text)
{
    size_t i;

    return sscanf(skip_stage(text), "overrides[%zu].", &i) == 1 && i < settings->n_overrides
               ? i
               : settings->n_overrides;
}

/* "overrides[N].FIELD: ..." */
static void explain_override(const struct settings *settings, const char *text, size_t i, FILE *out)
{
    const struct override_lines *lines = &settings->override_lines[i];
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];
    const struct option_row *row;

    riptide_prefix_format(&settings->overrides[i].dst, dst);
    text += strcspn(text, ".");
    text = skip(text, ".");
    row = find_field(override_rows, text);
    fprintf(out, "%s:%d: [" PREFIX_SECTION " %s] ", settings->file,
            row && lines->keys[row - override_rows] ? lines->keys[row - override_rows]
                                                    : lines->section,
            dst);
    print_fields(override_rows, text, out);
}

/* The field's path goes, and what has another name as an option gets that: lists are plural. */
static void name_option(struct riptide_error *error)
{
    static const char *const names[][2] = {
        { "scope.learn", "scope" },
        { "scope.exclude", "exclude" },
        { "scope.local_ports", "local_port" },
        { "scope.remote_ports", "remote_port" },
        { "scope.mark", "socket_mark" },
        { "scope.n_learn", "scope" },
        { "scope.n_exclude", "exclude" },
        { "scope.n_local_ports", "local_port" },
        { "scope.n_remote_ports", "remote_port" },
        { "n_aggregates", "aggregate" },
    };
    struct riptide_error given = *error;
    const char *text = skip_stage(given.text), *name = "";

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *behind = skip(text, names[i][0]);

        if (behind == text)
            continue;
        name = names[i][1];
        text = behind;
        break;
    }
    snprintf(error->text, sizeof(error->text), "%s%s", name, text);
}

size_t settings_find_named(struct riptide_error error, const struct option_row **rows, size_t max)
{
    const char *text = error.text;
    size_t n = 0, i;

    name_option(&error);
    while (*text && n < max) {
        const struct option_row *row = find_field(settings_rows, text);

        for (i = 0; i < n && rows[i] != row; i++)
            ;
        if (row && i == n)
            rows[n++] = row;
        text += strspn(text, field_letters);
        text += strcspn(text, field_letters);
    }
    return n;
}

void settings_explain_refusal(const struct settings *settings, struct riptide_error *error)
{
    size_t override = settings_find_refused_override(settings, error->text);
    const struct option_row *row;
    struct riptide_error given;
    const char *sections;
    FILE *out;

    name_option(error);
    row = find_field(settings_rows, error->text);
    given = *error;
    sections = skip(given.text, "n_overrides");
    out = fmemopen(error->text, sizeof(error->text), "w");
    if (!out)
        return;
    if (override < settings->n_overrides) {
        explain_override(settings, given.text, override, out);
    } else if (sections != given.text) {
        fprintf(out, "%s: sections for prefixes%s", settings->file, sections);
    } else if (row) {
        print_place(settings, row, given.text, out);
        print_fields(settings_rows, given.text, out);
    } else {
        fputs(given.text, out);
    }
    fclose(out);
    error->text[sizeof(error->text) - 1] = '\0'; /* not there where it was filled */
}

/* Both as text, for the caller to free; whether they differ. */
static bool is_changed(const struct option_row *row, const void *from, const void *to, char **fromp,
                       char **top)
{
    *fromp = option_print(row, from);
    *top = option_print(row, to);
    return *fromp && *top && strcmp(*fromp, *top);
}

int settings_check_change(const struct settings *from, const struct settings *to,
                          struct riptide_error *error)
{
    int r = 0;

    for (const struct option_row *row = settings_rows; row->name && r == 0; row++) {
        char *before, *after;

        if (is_changed(row, from, to, &before, &after) && row->is_fixed) {
            snprintf(error->text, sizeof(error->text),
                     "%s: %s; it cannot change from %s while riptided runs, restart it", row->name,
                     after, before);
            settings_explain_refusal(to, error);
            r = -EBUSY;
        }
        free(before);
        free(after);
    }
    return r;
}

static bool are_overrides_changed(const struct settings *from, const struct settings *to)
{
    return from->n_overrides != to->n_overrides ||
           (to->n_overrides > 0 && memcmp(from->overrides, to->overrides,
                                          to->n_overrides * sizeof(to->overrides[0])) != 0);
}

void settings_print_changes(const struct settings *from, const struct settings *to, FILE *out)
{
    const char *separator = "";

    for (const struct option_row *row = settings_rows; row->name; row++) {
        char *before, *after;

        if (is_changed(row, from, to, &before, &after)) {
            fprintf(out, "%s%s %s -> %s", separator, row->name, *before ? before : "nothing",
                    *after ? after : "nothing");
            separator = ", ";
        }
        free(before);
        free(after);
    }
    if (are_overrides_changed(from, to))
        fprintf(out, "%ssections for prefixes: %zu", separator, to->n_overrides);
}
