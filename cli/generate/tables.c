/* SPDX-License-Identifier: MIT */
/* Runs in the build, not installed: prints the programs' tables as JSON, for generate.py. */
#include "commands.h"
#include "lib/tools.h"

#include <stdlib.h>

static json_t *names_to_json(const struct value_kind *kind)
{
    json_t *names = json_array();

    for (size_t i = 0; value_get_name(kind, i); i++)
        json_array_append_new(names, json_string(value_get_name(kind, i)));
    return names;
}

static json_t *rows_to_json(const struct option_row *rows, const void *defaults)
{
    json_t *list = json_array();

    for (; rows->name; rows++) {
        char *value = option_print(rows, defaults);

        json_array_append_new(
            list, json_pack("{s:s, s:s?, s:s, s:s?, s:s?, s:b, s:o, s:b}", "name",
                            rows->name, "argument", rows->kind->argument, "help", rows->help,
                            "section", rows->section, "value", value, "is_unset", rows->is_unset,
                            "names", names_to_json(rows->kind), "is_file",
                            rows->kind == &value_path || rows->kind == &value_directory));
        free(value);
    }
    return list;
}

static json_t *commands_to_json(void)
{
    struct command_options defaults = command_defaults();
    struct option_row rows[COMMAND_MAX_ROWS];
    const struct command *command;
    json_t *list = json_array();

    for (size_t i = 0; (command = command_get(i)); i++) {
        command_get_rows(command, rows);
        json_array_append_new(list, json_pack("{s:s, s:s?, s:s, s:o}", "name", command->name,
                                              "operands", command->operands, "help", command->help,
                                              "options", rows_to_json(rows, &defaults)));
    }
    return list;
}

static json_t *policies_to_json_list(void)
{
    const struct riptide_policy *policy;
    json_t *list = json_array();

    for (size_t i = 0; (policy = riptide_policy_get(i)); i++)
        json_array_append_new(list,
                              json_pack("{s:s, s:s}", "name", policy->name, "help", policy->help));
    return list;
}

int main(void)
{
    const struct riptide_hint none = { .cwnd_max = 0 };
    struct settings defaults;

    settings_init(&defaults);
    return command_print(&(struct command_options){ .json = true },
                         json_pack("{s:o, s:o, s:o, s:o}", "daemon",
                                   rows_to_json(settings_rows, &defaults), "prefix",
                                   rows_to_json(override_rows, &none), "commands",
                                   commands_to_json(), "policies", policies_to_json_list()),
                         NULL, NULL);
}
