/* SPDX-License-Identifier: MIT */
/*
 * What is known of the main table beyond what a single query tells: where its routes compete,
 * through which links and gateways they lead. It does not grow with main: a scan reads all routes,
 * notifications keep it up from there. Pure but for memory.
 */
#ifndef RIPTIDE_LIB_APPLY_MAIN_TABLE_H
#define RIPTIDE_LIB_APPLY_MAIN_TABLE_H

#include "route.h"

enum contest {
    CONTEST_METRIC,    /* several routes of one prefix and metric */
    CONTEST_PACKET,    /* by tos or source: whatever overlaps is contested, not this prefix alone */
    CONTEST_NEIGHBOUR, /* its gateway has failed: whatever is inside goes elsewhere for a while */
};

/* A prefix of main for which the kernel chooses between several routes, by more than the metric. */
struct contested {
    struct riptide_prefix prefix;
    enum contest contest;
};

/*
 * A gateway of main's IPv6 routes. Where its neighbour entry has failed, a host that does not
 * forward takes the next metric or a shorter prefix (rt6_check_neigh in net/ipv6/route.c), until
 * somebody asks for the neighbour again, which is not announced.
 */
struct gateway {
    struct riptide_prefix address;
    uint32_t ifindex;
    bool is_failed;
};

struct main_table {
    struct contested *contested;
    uint32_t n_contested, capacity;
    uint32_t n_failed; /* of those, CONTEST_NEIGHBOUR */
    uint32_t *links;   /* ifindexes, sorted by nothing */
    uint32_t n_links;
    struct gateway *gateways;
    uint32_t n_gateways;
    uint32_t n_routes; /* read */
    struct route previous;              /* to see routes that compete */
    bool is_cut[2];         /* ended at a route too large for the kernel to show: what is behind it
                               is not known */
    bool has_unknown_links; /* routes with several hops, or no memory for `links` */
    bool has_new_gateways;  /* since the scan: whether their neighbours failed is not known */
    bool is_stale;          /* some contest may have ended since the scan */
};

/* Forgets all but is_cut, which only a scan of all tables finds out. */
void main_table_forget(struct main_table *main);

/* Takes in a route in the order of the dump. Errors: -ENOMEM. */
int main_table_add(struct main_table *main, const struct route *route,
                   const struct nlmsghdr *message);

/*
 * Takes in a notification of a route that came, changed or went. A contest begins at once; only a
 * scan finds out that one has ended (is_stale). Errors: -ENOMEM.
 */
int main_table_follow(struct main_table *main, const struct route *route,
                      const struct nlmsghdr *message);

/* Takes in a route again, after the neighbours: whether it leads through one that has failed. */
int main_table_add_failed(struct main_table *main, const struct route *route,
                          const struct nlmsghdr *message);

/* Whether a gateway has failed, so that routes are to be taken in again. */
bool main_table_has_failed(const struct main_table *main);

/* Whether routes lead through that link, as far as is known. */
bool main_table_has_link(const struct main_table *main, uint32_t ifindex);

/* The gateway of that address, or NULL. */
struct gateway *main_table_find_gateway(const struct main_table *main,
                                        const struct riptide_prefix *address, uint32_t ifindex);

/* Why no destination of families[i] can have a route: static; NULL: they can. */
const char *main_table_cut_reason(const struct main_table *main, int i);

/* Why a destination whose base route is `match` is left alone: static; NULL: it need not be. */
const char *main_table_contested_reason(const struct main_table *main,
                                        const struct riptide_prefix *match,
                                        const struct riptide_prefix *dst);

#endif
