/* SPDX-License-Identifier: MIT */
/*
 * The lists in the man pages: options, keys, subcommands, policies.
 */
#include "commands.h"
#include "generate.h"
#include "lib/tools.h"
#include "settings.h"

#include <stdlib.h>
#include <string.h>

/* mandoc's lint asks for lines that are no longer. */
enum { WIDTH = 78 };

/* Words into lines; what roff would read as its own is escaped. */
static void print_text(FILE *out, const char *text)
{
    size_t column = 0;

    while (*text) {
        size_t len = strcspn(text, " ");

        if (column > 0 && column + 1 + len > WIDTH) {
            fputc('\n', out);
            column = 0;
        }
        if (column > 0)
            column += (size_t)fprintf(out, " ");
        else if (*text == '.' || *text == '\'')
            fputs("\\&", out);
        for (size_t i = 0; i < len; i++)
            fputs(text[i] == '\\' ? "\\e" : (char[]){ text[i], '\0' }, out);
        column += len;
        text += len + (text[len] == ' ');
    }
    fputc('\n', out);
}

static void print_names(FILE *out, const struct value_kind *kind)
{
    const char *separator = "One of ", *name;

    for (size_t n = 0; (name = kind->name(n)); n++) {
        fprintf(out, "%s%s", separator, name);
        separator = ", ";
    }
    fputs(".\n", out);
}

/* What stands below the name of an option or a key. */
static void print_row(FILE *out, const struct option_row *row, const void *defaults)
{
    char *value = defaults ? option_print_default(row, defaults) : NULL;
    char text[512];

    snprintf(text, sizeof(text), "%c%s%s%s%s.", row->help[0] & ~0x20, row->help + 1,
             value && *value ? " (default " : "", value && *value ? value : "",
             value && *value ? ")" : "");
    if (row->help[0] < 'a' || row->help[0] > 'z')
        text[0] = row->help[0];
    print_text(out, text);
    if (row->kind->argument && row->kind->name && strcmp(row->name, "log-level"))
        print_names(out, row->kind);
    if (row->is_fixed)
        fputs("A change needs a restart.\n", out);
    free(value);
}

static void print_options(FILE *out, const struct option_row *rows, const void *defaults)
{
    fputs(".Bl -tag -width Ds\n", out);
    for (; rows->name; rows++) {
        fprintf(out, ".It Fl -%s", rows->name);
        if (rows->kind->argument)
            fprintf(out, " Ar %s", rows->kind->argument);
        fputc('\n', out);
        print_row(out, rows, defaults);
    }
    fputs(".El\n", out);
}

static void print_key(FILE *out, const struct option_row *row, const void *defaults)
{
    const char *flag = row->kind == &value_auto_flag ? "auto | yes | no" : "yes | no";

    fprintf(out, ".It Cm %s No = Ar %s\n", row->name,
            row->kind->argument ? row->kind->argument : flag);
    print_row(out, row, defaults);
}

static void daemon_options(FILE *out)
{
    struct settings defaults;

    settings_init(&defaults);
    print_options(out, settings_rows, &defaults);
    settings_deinit(&defaults);
}

static void keys(FILE *out)
{
    struct settings defaults;
    const char *section = "";

    settings_init(&defaults);
    for (const struct option_row *row = settings_rows; row->name; row++) {
        if (!row->section)
            continue;
        if (strcmp(section, row->section)) {
            fputs(*section ? ".El\n" : "", out);
            section = row->section;
            fprintf(out, ".Ss Section %s\n.Bl -tag -width Ds\n", section);
        }
        print_key(out, row, &defaults);
    }
    fputs(".El\n", out);
    settings_deinit(&defaults);
}

static void prefix_keys(FILE *out)
{
    fputs(".Bl -tag -width Ds\n", out);
    for (const struct option_row *row = override_rows; row->name; row++)
        print_key(out, row, NULL);
    fputs(".El\n", out);
}

/* --help alone says nothing that the page does not. */
static bool has_options(const struct command *command)
{
    return strcmp(command->rows[0].name, "help") != 0;
}

static void commands(FILE *out)
{
    struct command_options defaults = command_defaults();
    const struct command *command;

    fputs(".Bl -tag -width Ds\n", out);
    for (size_t i = 0; (command = command_get(i)); i++) {
        fprintf(out, ".It Cm %s", command->name);
        if (has_options(command))
            fputs(" Oo Ar option ... Oc", out);
        if (command->operands)
            fprintf(out, " Ar %s", command->operands);
        fputc('\n', out);
        print_row(out,
                  &(struct option_row){ command->name, .kind = &value_flag, .help = command->help },
                  NULL);
        if (has_options(command))
            print_options(out, command->rows, &defaults);
    }
    fputs(".El\n", out);
}

static void policies(FILE *out)
{
    fputs(".Bl -tag -width Ds\n", out);
    for (size_t i = 0; riptide_policy_get(i); i++) {
        fprintf(out, ".It Cm %s\n", riptide_policy_get(i)->name);
        print_text(out, riptide_policy_get(i)->help);
    }
    fputs(".El\n", out);
}

bool generate_manual(FILE *out, FILE *page)
{
    static const struct {
        const char *name;
        void (*print)(FILE *out);
    } lists[] = {
        { "@daemon-options@\n", daemon_options },
        { "@keys@\n", keys },
        { "@prefix-keys@\n", prefix_keys },
        { "@commands@\n", commands },
        { "@policies@\n", policies },
    };
    enum { N_LISTS = sizeof(lists) / sizeof(lists[0]) };
    char line[1024];

    while (fgets(line, sizeof(line), page)) {
        size_t i = 0;

        while (i < N_LISTS && strcmp(line, lists[i].name))
            i++;
        if (i < N_LISTS)
            lists[i].print(out);
        else if (line[0] == '@')
            return false;
        else
            fputs(line, out);
    }
    return true;
}
