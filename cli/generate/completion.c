/* SPDX-License-Identifier: MIT */
/*
 * Completion for bash, zsh and fish. What a value may be is known where its kind has names, and
 * where it is a file; of other values nothing is offered.
 */
#include "commands.h"
#include "generate.h"
#include "settings.h"

#include <string.h>

static bool is_file(const struct option_row *row)
{
    return row->kind == &value_path || row->kind == &value_directory;
}

static bool takes_file(const struct command *command)
{
    return command->operands && strstr(command->operands, "FILE");
}

static void print_names(FILE *out, const struct value_kind *kind)
{
    for (size_t n = 0; kind->name(n); n++)
        fprintf(out, "%s%s", n ? " " : "", kind->name(n));
}

/* Text for single quotes; `special` are the characters that need a backslash of their own. */
static void print_quoted(FILE *out, const char *text, const char *special, const char *quote)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs(quote, out);
        else
            fprintf(out, "%s%c", strchr(special, *text) ? "\\" : "", *text);
    }
}

/* The case of bash for what follows an option; `lead` stands before its name. */
static void bash_values(FILE *out, const struct option_row *rows, const char *lead)
{
    for (; rows->name; rows++) {
        if (!rows->kind->argument)
            continue;
        fprintf(out, "    '%s--%s') ", lead, rows->name);
        if (is_file(rows)) {
            fputs("files=yes ;;\n", out);
            continue;
        }
        fputs("words='", out);
        if (rows->kind->name)
            print_names(out, rows->kind);
        fputs("' ;;\n", out);
    }
}

static void bash_options(FILE *out, const struct option_row *rows)
{
    for (const char *separator = ""; rows->name; rows++, separator = " ")
        fprintf(out, "%s--%s", separator, rows->name);
}

static void bash_commands(FILE *out)
{
    const struct command *command;

    fputs("    case \"$command $before\" in\n", out);
    for (size_t i = 0; (command = command_get(i)); i++) {
        char lead[64];

        snprintf(lead, sizeof(lead), "%s ", command->name);
        bash_values(out, command->rows, lead);
    }
    for (size_t i = 0; (command = command_get(i)); i++) {
        fprintf(out, "    '%s '*) words='", command->name);
        bash_options(out, command->rows);
        fprintf(out, "'%s ;;\n", takes_file(command) ? "; [[ $word == -* ]] || files=yes" : "");
    }
    fputs("    esac\n    ((COMP_CWORD > 1)) || words='", out);
    for (size_t i = 0; (command = command_get(i)); i++)
        fprintf(out, "%s%s", i ? " " : "", command->name);
    fputs("'\n", out);
}

void generate_bash(FILE *out, const char *program)
{
    fprintf(out,
            "# bash completion of %s: made of its table of options\n"
            "_%s() {\n"
            "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
            "    local words='' files=''\n"
            "    # bash takes --name=value for three words\n"
            "    if [[ $word == = ]]; then\n"
            "        word=''\n"
            "    elif [[ $before == = ]]; then\n"
            "        before=${COMP_WORDS[COMP_CWORD - 2]}\n"
            "    fi\n",
            program, program);
    if (!strcmp(program, "riptided")) {
        fputs("    case $before in\n", out);
        bash_values(out, settings_rows, "");
        fputs("    *) words='", out);
        bash_options(out, settings_rows);
        fputs("' ;;\n    esac\n", out);
    } else {
        fputs("    local command=${COMP_WORDS[1]}\n", out);
        bash_commands(out);
    }
    fprintf(out,
            "    if [[ $files ]]; then\n"
            "        compopt -o filenames 2>/dev/null\n"
            "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
            "    else\n"
            "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
            "    fi\n"
            "}\n"
            "complete -F _%s %s\n",
            program, program);
}

static void zsh_arguments(FILE *out, const struct option_row *rows, bool takes_files)
{
    fputs("_arguments -S", out);
    for (; rows->name; rows++) {
        fprintf(out, " \\\n    '%s--%s%s[", rows->kind->clear ? "*" : "", rows->name,
                rows->kind->argument ? "=" : "");
        print_quoted(out, rows->help, "[]:\\", "'\\''");
        fputc(']', out);
        if (rows->kind->argument)
            fprintf(out, ":%s:", rows->kind->argument);
        if (is_file(rows))
            fputs("_files", out);
        if (rows->kind->argument && rows->kind->name) {
            fputc('(', out);
            print_names(out, rows->kind);
            fputc(')', out);
        }
        fputc('\'', out);
    }
    fputs(takes_files ? " \\\n    '*:FILE:_files'\n" : "\n", out);
}

static void zsh_commands(FILE *out)
{
    const struct command *command;

    fputs("local -a commands\ncommands=(\n", out);
    for (size_t i = 0; (command = command_get(i)); i++) {
        fprintf(out, "    '%s:", command->name);
        print_quoted(out, command->help, ":\\", "'\\''");
        fputs("'\n", out);
    }
    fputs(")\n"
          "if (( CURRENT == 2 )); then\n"
          "    _describe command commands\n"
          "    return\n"
          "fi\n"
          "shift words\n"
          "(( CURRENT-- ))\n"
          "case $words[1] in\n",
          out);
    for (size_t i = 0; (command = command_get(i)); i++) {
        fprintf(out, "%s)\n", command->name);
        zsh_arguments(out, command->rows, takes_file(command));
        fputs(";;\n", out);
    }
    fputs("esac\n", out);
}

void generate_zsh(FILE *out, const char *program)
{
    fprintf(out, "#compdef %s\n# made of its table of options\n", program);
    if (!strcmp(program, "riptided"))
        zsh_arguments(out, settings_rows, false);
    else
        zsh_commands(out);
}

static void fish_options(FILE *out, const struct option_row *rows, const char *lead)
{
    for (; rows->name; rows++) {
        fprintf(out, "complete %s -l %s", lead, rows->name);
        if (is_file(rows))
            fputs(" -r -F", out);
        else if (rows->kind->argument)
            fputs(" -x", out);
        if (rows->kind->argument && rows->kind->name) {
            fputs(" -a '", out);
            print_names(out, rows->kind);
            fputc('\'', out);
        }
        fputs(" -d '", out);
        print_quoted(out, rows->help, "\\", "\\'");
        fputs("'\n", out);
    }
}

void generate_fish(FILE *out, const char *program)
{
    const struct command *command;

    fprintf(out, "# fish completion of %s: made of its table of options\ncomplete -c %s -f\n",
            program, program);
    if (!strcmp(program, "riptided")) {
        fish_options(out, settings_rows, "-c riptided");
        return;
    }
    for (size_t i = 0; (command = command_get(i)); i++) {
        char lead[128];

        fprintf(out, "complete -c riptide -n __fish_use_subcommand -a %s -d '", command->name);
        print_quoted(out, command->help, "\\", "\\'");
        fputs("'\n", out);
        snprintf(lead, sizeof(lead), "-c riptide -n '__fish_seen_subcommand_from %s'",
                 command->name);
        fish_options(out, command->rows, lead);
        if (takes_file(command))
            fprintf(out, "complete %s -F\n", lead);
    }
}
