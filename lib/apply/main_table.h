/* SPDX-License-Identifier: MIT */
/*
 * What is known of the main table beyond what a single query tells: where its routes compete, and
 * through which gateways they lead. A scan reads all routes, notifications keep it up from there.
 * It grows with the routes that compete alone, by an entry for each prefix that has several of one
 * metric, and for each route by tos or source. Pure but for memory.
 */
#ifndef RIPTIDE_LIB_APPLY_MAIN_TABLE_H
#define RIPTIDE_LIB_APPLY_MAIN_TABLE_H

#include "prefix_table.h"
#include "route.h"

enum contest {
    CONTEST_METRIC = 1,    /* several routes of one prefix and metric */
    CONTEST_PACKET = 2,    /* by tos or source: whatever overlaps is contested as well */
    CONTEST_NEIGHBOUR = 4, /* its gateway has failed: what is inside goes elsewhere for a while */
};

/* A prefix of main for which the kernel chooses between several routes, by more than the metric. */
struct contested {
    struct riptide_prefix prefix;
    uint8_t contests; /* enum contest */
};

/*
 * A gateway of main's IPv6 routes, and any neighbour that has failed. Where a gateway has, a host
 * that does not forward takes the next metric or a shorter prefix (rt6_check_neigh in
 * net/ipv6/route.c), until somebody asks for the neighbour again, which is not announced.
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
    uint32_t n_failed;     /* prefixes that are contested for a neighbour */
    uint32_t n_routes;     /* read */
    struct route previous; /* to see routes that compete */
    bool is_cut[2];        /* ended at a route too large for the kernel to show: what is behind it
                              is not known */
    bool is_stale;         /* some contest may have ended since the scan */
};

void main_table_init(struct main_table *main);
void main_table_deinit(struct main_table *main);

/*
 * Forgets the routes, for a scan of them. What stays: is_cut, which only a scan of all tables finds
 * out, and neighbours that have failed.
 */
void main_table_begin(struct main_table *main);

/* Takes in a route in the order of the dump. Errors: -ENOMEM. */
int main_table_add(struct main_table *main, const struct route *route,
                   const struct nlmsghdr *message);

/*
 * Takes in a notification of a route that came, changed or went. A contest begins at once; only a
 * scan finds out that one has ended (is_stale). Errors: -ENOMEM.
 */
int main_table_follow(struct main_table *main, const struct route *route,
                      const struct nlmsghdr *message);

/*
 * Takes in whether a neighbour has failed. Returns 1 where that is new of one that routes lead
 * through: they are to be read again. Errors: -ENOMEM.
 */
int main_table_note_neighbour(struct main_table *main, const struct riptide_prefix *address,
                              uint32_t ifindex, bool is_failed);

/* Link-local and multicast routes come with every link and lead to no destination of ours. */
bool main_table_is_of_every_link(const struct riptide_prefix *dst);

/* Why no destination of families[i] can have a route: static; NULL: they can. */
const char *main_table_cut_reason(const struct main_table *main, int i);

/* Why a destination whose base route is `match` is left alone: static; NULL: it need not be. */
const char *main_table_contested_reason(const struct main_table *main,
                                        const struct riptide_prefix *match,
                                        const struct riptide_prefix *dst);

#endif
