/*
 * A look at the kernel: its rules, our routes, what was learned on them, and where main's compete.
 * One netlink buffer per step.
 */
#ifndef RIPTIDE_LIB_APPLY_SCAN_H
#define RIPTIDE_LIB_APPLY_SCAN_H

#include "route.h"
#include "rule.h"

struct riptide_router;

/* A prefix of main for which the kernel chooses between several routes, by more than the metric. */
struct contested {
    struct riptide_prefix prefix;
    bool is_by_packet; /* by tos or source: whatever overlaps is contested, not this prefix alone */
};

/* How much a scan looks at. */
enum scan_extent {
    SCAN_NOTHING,
    SCAN_PATHS, /* what was learned on our routes, and goes with each that is written anew */
    SCAN_MAIN,  /* where main's routes compete: enough after a change of routes */
    SCAN_ALL,   /* rules, our routes, main */
};

/*
 * A gateway of main's IPv6 routes. Where its neighbour entry has failed, a host that does not
 * forward takes the next metric or a shorter prefix (rt6_check_neigh in net/ipv6/route.c); a copy
 * in a table of its own cannot.
 */
struct gateway {
    struct riptide_prefix address;
    uint32_t ifindex;
    bool is_failed;
};

struct scan {
    enum scan_extent extent;
    uint32_t step; /* which dump is under way */
    bool is_running;
    bool is_asked;       /* its request was sent */
    bool is_interrupted; /* a dump was, by changes */
    struct rules rules[2];
    struct route previous; /* of main, to see routes that compete */
    struct contested *contested;
    uint32_t n_contested;
    uint32_t n_foreign;       /* routes in our table that are not ours */
    uint32_t n_same_protocol; /* routes of main with our protocol */
    uint32_t *links;          /* ifindexes that routes of main lead through, sorted by nothing */
    uint32_t n_links;
    struct gateway *gateways;
    uint32_t n_gateways;
    bool is_main_cut[2];    /* main ended at a route too large for the kernel to show: what is
                               behind it is not known */
    bool has_unknown_links; /* routes with several hops, or no memory for `links` */
    uint32_t capacity;
    bool has_len[2][129]; /* prefix lengths of targets that are no hosts */
};

void scan_deinit(struct scan *scan);

/*
 * One piece of a scan, which it begins with that extent where none is running. Returns
 * RIPTIDE_E_DONE at its end, RIPTIDE_E_RESTARTED where changes interrupted a dump: what it found
 * may be incomplete. Errors: those of channel_dump_step.
 */
int scan_step(struct riptide_router *router, enum scan_extent extent);

/* Whether routes of main lead through that link, as far as the last scan knows. */
bool scan_has_link(const struct scan *scan, uint32_t ifindex);

/* The gateway of that address, or NULL. */
struct gateway *scan_find_gateway(struct scan *scan, const struct riptide_prefix *address,
                                  uint32_t ifindex);

/* Why no destination of families[i] can have a route: static; NULL: they can. */
const char *scan_cut_reason(const struct scan *scan, int i);

/* Why a destination whose base route is `match` is left alone: static; NULL: it need not be. */
const char *scan_contested_reason(const struct scan *scan, const struct riptide_prefix *match,
                                  const struct riptide_prefix *dst);

#endif
