/* SPDX-License-Identifier: MIT */
/* Keys and values of the maps, which the kernel's program and its loader share. */
#ifndef RIPTIDE_LIB_PROGRAM_WINDOW_H
#define RIPTIDE_LIB_PROGRAM_WINDOW_H

#include "../../pacing.h"
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
    __u32 pacing_percent; /* as wanted: see window_pacing_percent */
    __u32 rtt_us; /* the path's smallest; also for handshakes without a measurement */
    __u32 route_cwnd_max; /* of a route of ours, which held out connections have as well; 0: none */
    __u32 base_cwnd;      /* without that route */
};

/* The only element of its map; for all windows. */
struct window_settings {
    __u64 netns_cookie;      /* of the namespace that the program serves */
    __u32 is_paused; /* the program does nothing */
    __u32 is_pacing; /* also windows without a percentage */
    __u32 holdout;   /* ARM_SHARE of connections that keep the kernel's window */
    __u32 seed;      /* for the draw, see arm_of */
};

/* The part of a round trip over which the first flight leaves, percent; 0: at once. */
static inline __u32 window_pacing_percent(const struct window *window, __u32 is_pacing)
{
    __u32 percent = window->pacing_percent;

    if (percent > 100)
        return 0;
    return (percent || is_pacing) && percent < TCP_PACING_PERCENT ? TCP_PACING_PERCENT : percent;
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

/* The only element of its map: struct riptide_program_counts. */
struct window_counts {
    __u64 given, paced, kept, syn_lost, refused, held_out, by_cwnd[WINDOW_BUCKETS], segments;
};

#endif
