/* SPDX-License-Identifier: MIT */
/*
 * Properties of the main table that a single query does not show: where its routes compete, and
 * through which gateways they lead. A scan reads all routes, notifications update the result. Its
 * size depends on competing routes only: an entry for each prefix with several routes of one
 * metric, and for each route by tos or source. Pure except for memory.
 */
#ifndef RIPTIDE_LIB_APPLY_MAIN_TABLE_H
#define RIPTIDE_LIB_APPLY_MAIN_TABLE_H

#include "prefix_table.h"
#include "route.h"

enum contest {
    CONTEST_METRIC = 1,    /* several routes of one prefix and metric */
    CONTEST_PACKET = 2,    /* by tos or source: overlapping prefixes are contested as well */
    CONTEST_NEIGHBOUR = 4, /* its gateway has failed: traffic inside uses another route for a while
                            */
};

/* A prefix of main for which the kernel chooses among several routes by more than the metric. */
struct contested {
    struct riptide_prefix prefix;
    uint8_t contests; /* enum contest */
};

/*
 * A gateway of main's IPv6 routes, or any neighbour that has failed. When a gateway has failed, a
 * host that does not forward uses the next metric or a shorter prefix (rt6_check_neigh in
 * net/ipv6/route.c), until the neighbour is resolved again, which the kernel does not announce.
 */
struct neighbour {
    struct riptide_prefix address;
    uint32_t ifindex;
    bool is_gateway;
    bool is_failed;
};

struct main_table {
    struct prefix_table contested;
    struct neighbour *neighbours;
    uint32_t n_neighbours, neighbours_capacity;
    uint32_t n_failed;     /* prefixes that are contested because of a neighbour */
    struct route previous; /* to detect competing routes */
    bool is_cut[2];        /* the dump ended at a route too large for the kernel to show, so later
                              routes are unknown */
    bool is_stale;         /* a contest may have ended since the scan */
};

void main_table_init(struct main_table *main);
void main_table_deinit(struct main_table *main);

/*
 * Discards the routes before a scan. Keeps is_cut, which only a scan of all tables finds, and
 * failed neighbours.
 */
void main_table_begin(struct main_table *main);

/* Adds a route, in the order of the dump. Errors: -ENOMEM. */
int main_table_add(struct main_table *main, const struct route *route,
                   const struct nlmsghdr *message);

/*
 * Processes a notification of an added, changed or deleted route. A contest begins at once; only a
 * scan detects its end (is_stale). Errors: -ENOMEM.
 */
int main_table_follow(struct main_table *main, const struct route *route,
                      const struct nlmsghdr *message);

/*
 * Records whether a neighbour has failed. Returns 1 if that is new and routes lead through it: they
 * must be read again. Errors: -ENOMEM.
 */
int main_table_note_neighbour(struct main_table *main, const struct riptide_prefix *address,
                              uint32_t ifindex, bool is_failed);

/* Each link has link-local and multicast routes, which lead to no destination of ours. */
bool main_table_is_of_every_link(const struct riptide_prefix *dst);

/* Why no destination of families[i] can have a route (static); NULL: they can. */
const char *main_table_cut_reason(const struct main_table *main, int i);

/* Why a destination with the base route `match` must be left alone (static); NULL: it need not. */
const char *main_table_contested_reason(const struct main_table *main,
                                        const struct riptide_prefix *match,
                                        const struct riptide_prefix *dst);

#endif
