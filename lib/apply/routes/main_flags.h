/* SPDX-License-Identifier: MIT */
/*
 * What a single query does not show of the main table. A scan reads all routes, notifications add
 * to it; what has ended only the next scan finds. Of bounded size, whatever main has. Pure.
 */
#ifndef RIPTIDE_LIB_APPLY_MAIN_FLAGS_H
#define RIPTIDE_LIB_APPLY_MAIN_FLAGS_H

#include "route.h"

enum { MAIN_MAX_CONTESTED = 16 };

struct main_flags {
    /* For each of families[]. */
    bool is_cut[2];            /* the dump ended at a route too large for the kernel to show */
    bool depends_on_packet[2]; /* a route has a tos or a source */
    bool depends_on_carrier[2]; /* routes by a link without carrier may be ignored */
    /* Prefixes with several routes of one metric; with more of them, any prefix may be one. */
    struct riptide_prefix contested[MAIN_MAX_CONTESTED];
    uint32_t n_contested;
    /*
     * IPv6: while a gateway does not answer, a host that does not forward uses the next metric or a
     * shorter prefix instead (rt6_check_neigh in net/ipv6/route.c), and the kernel announces
     * neither the beginning nor the end. So there must be no other way to anything behind a
     * gateway: no second gateway, and no route without one to a shorter or the same prefix.
     */
    bool may_fail_over;
    struct riptide_prefix gateway; /* the first one; family 0: none */
    uint32_t gateway_ifindex;
    uint8_t longest_behind, shortest_direct; /* prefix lengths of routes with a gateway, without */
    bool is_forwarding;
    struct route previous; /* of the dump, to detect several routes of one metric */
};

/* Discards all but is_forwarding, before a scan. */
void main_flags_begin(struct main_flags *main);

/* Adds a route, in the order of the dump. */
void main_flags_add(struct main_flags *main, const struct route *route);

/* Processes a notification of a route, with the flags of its message. */
void main_flags_follow(struct main_flags *main, const struct route *route, uint16_t flags);

/*
 * Records whether the host forwards IPv6 and ignores routes without carrier, if the message says
 * so. Returns the link that it is about, or NETCONFA_IFINDEX_...; 0: it is malformed.
 */
int main_flags_take_netconf(struct main_flags *main, const struct nlmsghdr *message);

/* Whether anything stands that may have ended since the scan. */
bool main_flags_exist(const struct main_flags *main);

/* Why no destination of families[i] can have a window (static); NULL: they can. */
const char *main_flags_reason(const struct main_flags *main, int i);

/* Whether several routes of main compete for destinations with the base route `match`. */
bool main_flags_contest(const struct main_flags *main, const struct riptide_prefix *match);

#endif
