/* SPDX-License-Identifier: MIT */
/* Reads the kernel's rules, and finds ours by protocol and table. */
#include "rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

bool leftover_find(const struct riptide_applier_config *config, const char *command,
                   struct riptide_error *line)
{
    struct rule *rules = NULL;
    uint32_t table = 0;
    size_t n = 0;

    if (riptide_rules_read(config, &rules, &n) < 0)
        return false;
    for (size_t i = 0; i < n && table == 0; i++) {
        if (rules[i].protocol == config->protocol && rules[i].table != config->table)
            table = rules[i].table;
    }
    free(rules);
    if (table != 0)
        snprintf(line->text, sizeof(line->text),
                 "rules of protocol %u look up table %" PRIu32
                 " and stay, with its routes: `%s --table %" PRIu32 "` removes them",
                 config->protocol, table, command, table);
    return table != 0;
}
