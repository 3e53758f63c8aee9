/* SPDX-License-Identifier: MIT */
/* Our rules among those of other programs, and the first window by a route of the kernel. Pure. */
#ifndef CLI_RULES_H
#define CLI_RULES_H

#include "lib/tools.h"

#include <riptide/apply.h>

/* The kernel's answer to a route query for a connection. */
struct route_answer {
    int error; /* -errno of the query */
    struct riptide_prefix match;
    uint32_t table;
    uint32_t initcwnd; /* segments; 0: not set */
    uint32_t ifindex;
    uint8_t protocol;
};

/* Whether our rule exists. */
bool rules_are_in_place(const struct rule *rules, size_t n, uint8_t family);

/* The first rule of another program before ours that looks up `table` (0: any rule); NULL: none. */
const struct rule *rules_find_before(const struct rule *rules, size_t n, uint8_t family,
                                     uint32_t table);

/* "IPv4 priority 100 lookup main": ip rule has the rest. */
void rules_describe(char *text, size_t size, const struct rule *rule);

/* How connections start. */
struct start {
    uint32_t cwnd;  /* segments; 0: they cannot */
    uint32_t table; /* of the route that they use; 0: none */
    char text[160]; /* why it is not our route; empty: it is */
};

void rules_judge_start(const struct rule *rules, size_t n, uint8_t family, uint32_t table,
                       const struct route_answer *answer, struct start *start);

#endif
