/* SPDX-License-Identifier: MIT */
/* The kernel follows rules in order; the first one whose table has a route decides. */
#include "rules.h"

#include "lib/verdict/arm.h"
#include "lib/tools.h"

#include <inttypes.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

bool rules_are_in_place(const struct rule *rules, size_t n, uint8_t family)
{
    size_t n_ours = 0;

    for (size_t i = 0; i < n; i++)
        n_ours += rules[i].family == family && rules[i].is_ours;
    return n_ours == 1;
}

/* On every host the table local comes first; its addresses are no destinations. */
static bool is_of_local_table(const struct rule *rule)
{
    return rule->is_unconditional && rule->table == RT_TABLE_LOCAL;
}

const struct rule *rules_find_before(const struct rule *rules, size_t n, uint8_t family,
                                     uint32_t table)
{
    for (size_t i = 0; i < n; i++) {
        const struct rule *rule = &rules[i];

        if (rule->family != family)
            continue;
        if (rule->is_ours)
            return NULL;
        if (table ? rule->table == table : !is_of_local_table(rule))
            return rule;
    }
    return NULL;
}

void rules_describe(char *text, size_t size, const struct rule *rule)
{
    int n = snprintf(text, size, "IPv%c priority %" PRIu32, rule->family == AF_INET ? '4' : '6',
                     rule->priority);

    if (rule->target)
        snprintf(text + n, size - (size_t)n, " goto %" PRIu32, rule->target);
    else if (rule->table == RT_TABLE_MAIN)
        snprintf(text + n, size - (size_t)n, " lookup main");
    else if (rule->table)
        snprintf(text + n, size - (size_t)n, " lookup %" PRIu32, rule->table);
}

void rules_judge_start(const struct rule *rules, size_t n, uint8_t family, uint32_t table,
                       const struct route_answer *answer, struct start *start)
{
    const struct rule *rule = rules_find_before(rules, n, family, answer->table);
    char described[96];

    *start = (struct start){
        .cwnd = answer->initcwnd ? answer->initcwnd : KERNEL_CWND,
        .table = answer->table,
    };
    if (answer->error) {
        start->cwnd = 0;
        snprintf(start->text, sizeof(start->text), "the kernel has no route: %s",
                 strerror(-answer->error));
    } else if (answer->table == table) {
        return;
    } else if (!rules_are_in_place(rules, n, family)) {
        snprintf(start->text, sizeof(start->text), "our rule for IPv%c is not in place",
                 family == AF_INET ? '4' : '6');
    } else if (rule) {
        rules_describe(described, sizeof(described), rule);
        snprintf(start->text, sizeof(start->text), "a rule comes before ours: %s", described);
    } else if (answer->table == RT_TABLE_MAIN) {
        snprintf(start->text, sizeof(start->text),
                 "main answers as if no route of ours were there: it has just changed");
    } else {
        snprintf(start->text, sizeof(start->text), "table %" PRIu32 " answers before ours",
                 answer->table);
    }
}
