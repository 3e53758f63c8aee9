/* SPDX-License-Identifier: MIT */
/*
 * What the program of the kernel and the one that loads it share: the maps' keys and values.
 */
#ifndef RIPTIDE_LIB_CONNECTIONS_WINDOW_H
#define RIPTIDE_LIB_CONNECTIONS_WINDOW_H

#include "../proof/arm.h"

#include <linux/types.h>

/*
 * Each map has an element for each network namespace, whose key is the namespace's cookie. That of
 * the windows is a map itself: a trie that finds the longest prefix. IPv4 is ::ffff:0:0/96, as for
 * connections of IPv6 sockets to it.
 */
struct window_key {
    __u32 prefix_bits; /* 0 to 128 */
    __u8 address[16];
};

/* What new connections to it start with; in each member but the window 0 leaves the kernel's own. */
struct window {
    __u32 initcwnd;  /* segments, from 1; of trials what arm_cwnd says */
    __u32 cwnd_max;  /* no trial is larger */
    __u32 may_lower; /* also where the kernel's own, such as a route's, is larger */
    __u32 rto_min_us;
    /* The first receive window, in bytes, of connections that this host opens; since Linux 6.1. */
    __u32 receive_bytes;
    /*
     * The part of a round trip over which the first flight leaves, in percent, and no less than
     * the settings say; up to 50: as TCP paces in slow start, two windows a round trip; more is a
     * lower rate until the first acknowledgement of data; above 100: at once.
     */
    __u32 pacing_percent;
    __u32 rtt_us;     /* the path's smallest; also for handshakes that measured none */
    __u32 route_step; /* so much above it a route of ours may be, segments */
    __u32 is_ipv6_alone; /* of a prefix that holds ::ffff:0:0/96 as well: not for IPv4 */
    __u32 base_cwnd; /* without our route, which gives all arms its window; 0: there is none */
};

/* One for all windows of a namespace. */
struct window_settings {
    __u32 is_paused;         /* all connections as without the program */
    __u32 pacing_rtt_min_us; /* shorter paths are not paced */
    __u32 pacing_percent;    /* the least of all windows; 0: at once where they have none */
    struct arm_shares shares; /* those held out start as without us */
    __u64 seed;               /* that draws them, see arm_of */
};

/* Over how much of a round trip its first flight leaves, percent; 0: at once. */
static inline __u32 window_pacing_percent(const struct window *window, __u32 least_percent)
{
    __u32 percent = window->pacing_percent;

    if (percent < least_percent)
        percent = least_percent;
    return percent > 100 ? 0 : percent;
}

/* The most segments of each bucket of windows but the last, which has all above. */
#define WINDOW_BOUNDS(each)                                                                        \
    each(10) each(15) each(20) each(30) each(40) each(50) each(60) each(80) each(100) each(200)    \
        each(500)
#define WINDOW_PLUS_ONE(bound) +1
#define WINDOW_PLUS_IF_ABOVE(bound) +(cwnd > (bound))
enum { WINDOW_BUCKETS = 1 WINDOW_BOUNDS(WINDOW_PLUS_ONE) };

static inline __u32 window_bucket(__u32 cwnd)
{
    return 0u WINDOW_BOUNDS(WINDOW_PLUS_IF_ABOVE);
}

/* Connections of a namespace since it was joined, whose prefix had a window. */
struct window_counts {
    __u64 given;
    __u64 paced;    /* of those */
    __u64 kept;     /* had more from their route */
    __u64 syn_lost; /* start with one segment, RFC 6298 section 5.7 */
    __u64 refused;  /* not to be paced, for a window that may not leave at once */
    __u64 held_out; /* in none of the above */
    __u64 by_cwnd[WINDOW_BUCKETS]; /* those given, by the segments that they start with */
    __u64 segments;                /* of all of these */
};

#endif
