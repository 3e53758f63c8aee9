/* SPDX-License-Identifier: MIT */
/*
 * Settings as riptided.conf.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

/* A line for each word where the key may be given many times: lines have a greatest length. */
static void print_key(FILE *out, const char *lead, const struct option_row *row, const char *value)
{
    bool is_list = row->kind->clear;

    if (!*value && !row->kind->argument)
        value = "no"; /* a flag */
    if (!*value)
        fprintf(out, "#%s =\n", row->name);
    while (*value) {
        size_t len = is_list ? strcspn(value, " ") : strlen(value);

        fprintf(out, "%s%s = %.*s\n", lead, row->name, (int)len, value);
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
            print_key(out, "", row, value);
        }
        free(value);
    }
}

static void print_sections(FILE *out, const struct settings *settings, bool is_example)
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
        fprintf(out, "# %s", row->help);
        if (!is_example) {
            fputs(" (", out);
            settings_describe_origin(settings, row, out);
            fputc(')', out);
        }
        fputc('\n', out);
        value = option_print(row, settings);
        if (value)
            print_key(out, is_example ? "#" : "", row, value);
        free(value);
    }
}

void config_print(FILE *out, const struct settings *settings)
{
    fprintf(out, "# riptided %s: what is in force, and where it comes from\n", riptide_version());
    print_sections(out, settings, false);
    for (size_t i = 0; i < settings->n_overrides; i++)
        print_override(out, settings, i);
}

void config_print_example(FILE *out, const struct settings *defaults)
{
    fputs("# /etc/riptide/riptided.conf: what riptided does; see riptided.conf(5).\n"
          "#\n"
          "# What is commented out is the default. Times have a unit (500ms, 90s, 10min, 1h, 1d), "
          "shares\n"
          "# may be percentages (0.8, 80%), prefixes are written as 203.0.113.0/24 or "
          "2001:db8::/32.\n"
          "# `riptided --check` looks for mistakes, `systemctl reload riptided` or SIGHUP takes it "
          "over.\n",
          out);
    print_sections(out, defaults, true);
    fputs("\n# One such section for each prefix that is to be treated in another way; the longest\n"
          "# that holds a destination decides alone.\n"
          "#[" PREFIX_SECTION " 203.0.113.0/24]\n",
          out);
    for (const struct option_row *row = override_rows; row->name; row++)
        fprintf(out, "# %s\n#%s =\n", row->help, row->name);
}
