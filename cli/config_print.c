/* SPDX-License-Identifier: MIT */
/*
 * Settings as riptided.conf.
 */
#include "settings.h"

#include <stdlib.h>
#include <string.h>

/* A line for each word where the key may be given many times: lines have a greatest length. */
static void print_key(FILE *out, const struct option_row *row, const char *value)
{
    bool is_list = row->kind->clear;

    if (!*value && !row->kind->argument)
        value = "no"; /* a flag */
    if (!*value)
        fprintf(out, "#%s =\n", row->name);
    while (*value) {
        size_t len = is_list ? strcspn(value, " ") : strlen(value);

        fprintf(out, "%s = %.*s\n", row->name, (int)len, value);
        value += len + (value[len] == ' ');
    }
}

static void print_override(FILE *out, const struct settings *settings, size_t i)
{
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];

    riptide_prefix_format(&settings->overrides[i].dst, dst);
    fprintf(out, "\n# %s:%d\n[" PREFIX_SECTION " %s]\n", settings->file,
            settings->override_lines[i].section, dst);
    for (const struct option_row *row = override_rows; row->name; row++) {
        int line = settings->override_lines[i].keys[row - override_rows];
        char *value = line ? option_print(row, &settings->overrides[i]) : NULL;

        if (value) {
            fprintf(out, "# %s (%s:%d)\n", row->help, settings->file, line);
            print_key(out, row, value);
        }
        free(value);
    }
}

static void print_sections(FILE *out, const struct settings *settings)
{
    const char *section = "";

    for (const struct option_row *row = settings_rows; row->name; row++) {
        char *value;

        if (!row->section)
            continue;
        if (strcmp(row->section, section)) {
            section = row->section;
            fprintf(out, "\n[%s]\n", section);
        }
        fprintf(out, "# %s (", row->help);
        settings_describe_origin(settings, row, out);
        fputs(")\n", out);
        value = option_print(row, settings);
        if (value)
            print_key(out, row, value);
        free(value);
    }
}

void config_print(FILE *out, const struct settings *settings)
{
    fprintf(out, "# riptided %s: what is in force, and where it comes from\n", riptide_version());
    print_sections(out, settings);
    for (size_t i = 0; i < settings->n_overrides; i++)
        print_override(out, settings, i);
}
