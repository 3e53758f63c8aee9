/* SPDX-License-Identifier: MIT */
/*
 * What a single query does not show of the main table: where its routes compete, and through which
 * links and gateways they lead. A scan reads all routes, notifications add to it; what has ended
 * only the next scan finds. Of bounded size, whatever main has. Pure.
 */
#ifndef RIPTIDE_LIB_APPLY_MAIN_FLAGS_H
#define RIPTIDE_LIB_APPLY_MAIN_FLAGS_H

#include "links.h"

enum { MAIN_MAX_CONTESTED = 16, MAIN_MAX_GATEWAYS = 64 };

struct gateway {
    struct riptide_prefix address;
    uint32_t ifindex;
};

struct main_flags {
    /* For each of families[]. */
    bool is_cut[2]; /* the dump ended at a route too large for the kernel to show */
    bool depends_on_packet[2]; /* a route has a tos or a source */
    struct {
        struct riptide_prefix prefixes[MAIN_MAX_CONTESTED]; /* with several routes of one metric */
        uint32_t n; /* more than there is room for: there are others */
    } contested[2];
    /*
     * Of IPv6 routes. When a gateway has failed, a host that does not forward uses the next metric
     * or a shorter prefix (rt6_check_neigh in net/ipv6/route.c), until the neighbour is resolved
     * again, which the kernel does not announce.
     */
    struct gateway gateways[MAIN_MAX_GATEWAYS];
    uint32_t n_gateways; /* more than there is room for: any neighbour may be one */
    bool has_failed;     /* one of them, since neighbours were read */
    bool is_forwarding;  /* IPv6: the host uses failed gateways all the same */
    bool is_stale;       /* something may have ended since the scan */
    struct route previous; /* of the dump, to detect several routes of one metric */
};

/* Discards all but is_cut and what is known of neighbours, before a scan. */
void main_flags_begin(struct main_flags *main);

/* Adds a route, in the order of the dump. */
void main_flags_add(struct main_flags *main, struct links *links, const struct route *route,
                    const struct nlmsghdr *message);

/*
 * Processes a notification of a route. Returns whether a gateway is new, so that it is unknown
 * whether it has failed.
 */
bool main_flags_follow(struct main_flags *main, struct links *links, const struct route *route,
                       const struct nlmsghdr *message);

/* Routes may have vanished without a notification. */
void main_flags_doubt(struct main_flags *main);

/*
 * Whether that message is about a neighbour that has failed and may be a gateway of main. A
 * malformed one is none.
 */
bool main_flags_is_failure(const struct main_flags *main, const struct nlmsghdr *message);

/* Whether the host forwards IPv6, if the message says so. */
void main_flags_take_netconf(struct main_flags *main, const struct nlmsghdr *message);

/* Why no destination of families[i] can have a window (static); NULL: they can. */
const char *main_flags_reason(const struct main_flags *main, int i);

/* Why a destination with the base route `match` is left alone (static); NULL: it is not. */
const char *main_flags_contested(const struct main_flags *main, const struct riptide_prefix *match);

#endif
