/* SPDX-License-Identifier: MIT */
/* Reads rules and routes of the kernel, and deletes ours. */
#ifndef RIPTIDE_LIB_APPLY_FLUSH_H
#define RIPTIDE_LIB_APPLY_FLUSH_H

#include "route.h"
#include "rule.h"

#include <riptide/apply.h>

/* The rules, RTM_GETRULE; or the routes of one table, RTM_GETROUTE: those of that protocol. */
struct found {
    uint16_t type;
    uint8_t family;                /* of the present dump */
    struct rule_identity identity; /* whose rules are ours; protocol 0 stands for routes of any */
    struct rules rules;            /* of both families, IPv4 first */
    struct route *routes;
    uint32_t n_routes, capacity;
};

/*
 * Continues after an error, and returns the first; -EINTR: changes interrupted it each time. A
 * family that the kernel lacks is empty.
 */
int found_read(struct found *found, struct netlink *channel);
void found_deinit(struct found *found);

/* A removal. Its functions continue after an error, and return the first of all. */
struct flush {
    struct netlink *channel;
    struct rule_identity identity;
    struct riptide_error *error; /* gets the kernel's text; may be NULL */
    struct riptide_flush_counts counts;
    int r; /* the first error */
};

/*
 * Rules that are ours by shape (rules_find_partner) or alone by our numbers, with any mark; and in
 * the table of each pair the routes of its protocol.
 */
int flush_rules(struct flush *flush);

/* The routes of that protocol (0: any) in a table. */
int flush_routes(struct flush *flush, uint32_t table, uint8_t protocol);

#endif
