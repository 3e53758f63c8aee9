/* SPDX-License-Identifier: MIT */
/*
 * Our rules among those of others, and what a route of the kernel's says of the first window. Pure.
 */
#ifndef CLI_RULES_H
#define CLI_RULES_H

#include "lib/tools.h"

#include <riptide/apply.h>

/* The kernel's answer to the question which route a connection takes. */
struct route_answer {
    int error; /* -errno of the query */
    struct riptide_prefix match;
    uint32_t table;
    uint32_t initcwnd; /* segments; 0: not set */
    uint32_t ifindex;
    uint8_t protocol;
};

/* Whether both rules of ours are there. */
bool rules_are_in_place(const struct rule *rules, size_t n, uint8_t family);

/*
 * The first rule of somebody else's before ours that looks up `table`, or whatever it does where
 * that is 0; NULL: none.
 */
const struct rule *rules_find_before(const struct rule *rules, size_t n,
                                             uint8_t family, uint32_t table);

/* "IPv4 priority 100 fwmark 0x7 lookup main", the last words as ip(8) has them. */
void rules_describe(char *text, size_t size, const struct rule *rule);

/* How connections start. */
struct start {
    uint32_t cwnd;  /* segments; 0: they do not */
    uint32_t table; /* whose route they take; 0: none's */
    char text[160]; /* why it is none of ours; empty: it is */
};

void rules_judge_start(const struct rule *rules, size_t n, uint8_t family, uint32_t table,
                       const struct route_answer *answer, struct start *start);

/*
 * Whether a flush leaves something: a rule of config->protocol that looks up another table than
 * config->table. Then `line` says which, and that `command` with an option removes it. leftover.c
 * reads the kernel's rules for it.
 */
bool leftover_find(const struct riptide_router_config *config, const char *command,
                   struct riptide_error *line);

#endif
