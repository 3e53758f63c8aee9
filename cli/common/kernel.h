/* SPDX-License-Identifier: MIT */
/*
 * What commands and answers read of the kernel's routing, with libmnl, in the network namespace of
 * this process. Needs no privilege.
 */
#ifndef CLI_KERNEL_H
#define CLI_KERNEL_H

#include <riptide/riptide.h>

/* The initial window of a route that sets none, segments: the kernel's name and value, RFC 6928. */
enum { TCP_INIT_CWND = 10 };

/* The size of a text of rules. */
enum { KERNEL_RULES_BYTES = 160 };

/*
 * Rules of other programs that lead the peer to this table, and come before riptided's own, or,
 * without these, before the kernel's `lookup main`: the first of each family, "IPv4 priority 100
 * lookup 99, IPv6 priority 100 lookup 99". Those to the tables local, main and default do not
 * count. Where there is none, the table's number, "254 (main)". Table 0: to any table and any peer,
 * which may be NULL; then empty: none, or no memory.
 */
void kernel_explain_table(uint32_t table, const struct riptide_prefix *peer,
                          char text[KERNEL_RULES_BYTES]);

/* What to do where rules of others come first. */
#define REMEDY_OF_RULES                                                                            \
    "let that rule match fewer connections (ip rule), or set apply = program, which no rule "      \
    "affects"

/* The route that TCP of this user takes to an address. All but `error` is 0 where there is none. */
struct kernel_route {
    int error;                   /* -errno where the kernel has none, else 0 */
    struct riptide_prefix match; /* the route's destination */
    bool is_ours;                /* riptided has made it */
    uint32_t table;              /* its routing table */
    uint32_t initcwnd;           /* segments; 0: not set, connections start with TCP_INIT_CWND */
};

/* Asks the kernel for the route to a peer, which is of full length. *route is always written. */
void kernel_find_route(const struct riptide_prefix *peer, struct kernel_route *route);

#endif
