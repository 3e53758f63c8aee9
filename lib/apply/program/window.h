/* SPDX-License-Identifier: MIT */
/* Keys and values of the maps, which the kernel's program and its loader share. */
#ifndef RIPTIDE_LIB_PROGRAM_WINDOW_H
#define RIPTIDE_LIB_PROGRAM_WINDOW_H

#include "../../proof/arm.h"

#include <linux/types.h>

/* Windows are in a trie: the longest prefix of a peer decides. */
struct window_key {
    __u32 prefix_bits; /* of all that follows: 32 more than the prefix has */
    __u32 family;      /* AF_INET also for connections of IPv6 sockets to IPv4 */
    __u8 address[16];
};

/* The window for new connections; in all other members 0 keeps the kernel's own value. */
struct window {
    __u32 initcwnd;  /* segments, from 1 */
    __u32 may_lower; /* lowers a larger one of the kernel, such as a route's */
    __u32 rto_min_us;
    /* The first receive window, in bytes, of connections that this host opens; since Linux 6.1. */
    __u32 receive_bytes;
    /*
     * The part of a round trip over which the first flight leaves, in percent, at least that of the
     * settings; up to 50: TCP's pacing in slow start, two windows in a round trip; more: a lower
     * rate until the first acknowledgement of data; above 100: at once.
     */
    __u32 pacing_percent;
    __u32 rtt_us;     /* the path's smallest; also for handshakes without a measurement */
    __u32 route_step; /* a route of ours may be larger by this, segments */
    /* Without our route, which gives its window to held out connections as well; 0: none. */
    __u32 base_cwnd;
};

/* The only element of its map; for all windows. */
struct window_settings {
    __u64 netns_cookie;      /* of the namespace that the program serves */
    __u32 is_paused;         /* the program does nothing */
    __u32 pacing_rtt_min_us; /* shorter paths are not paced */
    __u32 pacing_percent;    /* the least of all windows; 0: at once, if they have none */
    __u32 holdout;           /* ARM_SHARE of connections that keep the kernel's window */
    __u64 seed;              /* for the draw, see arm_of */
};

/* Over how much of a round trip the first flight leaves, percent; 0: at once. */
static inline __u32 window_pacing_percent(const struct window *window, __u32 least_percent)
{
    __u32 percent = window->pacing_percent;

    if (percent < least_percent)
        percent = least_percent;
    return percent > 100 ? 0 : percent;
}

/* The upper bound of each bucket of windows, segments, except the last. */
#define WINDOW_BOUNDS(each)                                                                        \
    each(10) each(15) each(20) each(30) each(40) each(50) each(60) each(80) each(100) each(200)    \
        each(500)
#define WINDOW_PLUS_ONE(bound)      +1
#define WINDOW_PLUS_IF_ABOVE(bound) +window_is_above(cwnd, bound)
enum { WINDOW_BUCKETS = 1 WINDOW_BOUNDS(WINDOW_PLUS_ONE) };

/*
 * Without a branch: of a verifier that follows wrong guesses of the processor as well, each doubles
 * the work, and an index must not be another constant on each way that leads to it.
 */
static inline __u64 window_is_above(__u32 cwnd, __u32 bound)
{
    __u64 difference = (__u64)bound - cwnd;

    __asm__("" : "+r"(difference)); /* the compiler would make it a branch */
    return difference >> 63;
}

static inline __u64 window_bucket(__u32 cwnd)
{
    return 0 WINDOW_BOUNDS(WINDOW_PLUS_IF_ABOVE);
}

/* The only element of its map: connections to prefixes with a window. */
struct window_counts {
    __u64 given;
    __u64 paced;                   /* of those */
    __u64 kept;                    /* their route had a larger one */
    __u64 syn_lost;                /* started with one segment, RFC 6298 section 5.7 */
    __u64 refused;                 /* not paced, though the window must not leave at once */
    __u64 held_out;                /* not in the above */
    __u64 by_cwnd[WINDOW_BUCKETS]; /* given windows, by size */
    __u64 segments;                /* of all of these */
};

#endif
