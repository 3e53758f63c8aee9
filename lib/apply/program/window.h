/* SPDX-License-Identifier: MIT */
/* Keys and values of the maps, which the kernel's program and its loader share. */
#ifndef RIPTIDE_LIB_PROGRAM_WINDOW_H
#define RIPTIDE_LIB_PROGRAM_WINDOW_H

#include "tcp.h"
#include "verdict/arm.h"

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
    __u32 pacing_percent; /* of a round trip, over which the first flight leaves; 0: at once */
    __u32 rtt_us;         /* the path's smallest, for handshakes without a measurement */
    __u32 route_cwnd_max; /* of a route of ours, which held out connections have as well; 0: none */
    __u32 base_cwnd;      /* without that route */
    __u32 bucket;         /* of initcwnd, in the counts */
};

/* As struct riptide_program_counts. */
enum { WINDOW_BUCKETS = 12 };
struct window_counts {
    __u64 given, paced, kept, held_out, by_cwnd[WINDOW_BUCKETS], segments;
};

/*
 * Notes of connections that have opened with a window, or held out from one, each in the slot of
 * its hash (arm_hash): only the program knows that, and a destroy event does not tell. The reader
 * frees the slot when the connection closes. A note that is in the way stays, so that whether a
 * connection is noted does not depend on how long it takes; but only so long, as some are never
 * read. Its time is in 2^30 ns, about a second.
 */
enum { OPENED_SLOTS = 1 << 15, OPENED_KEPT = 256 };

/* The hash, when, and as what. Never 0, which is a free slot: small hashes are held out. */
static inline __u64 opened_note(__u64 hash, __u64 now, __u32 phase, __u32 arm)
{
    return (hash >> 32 << 32) | (now & 0x3fffffff) << 2 | phase << 1 | arm;
}

static inline struct opened opened_of(__u64 note)
{
    return (struct opened){ (enum arm)(note & 1), (enum holdout_phase)(note >> 1 & 1) };
}

/*
 * The program gives no windows where its owner has not been alive for so long: the owner hangs, or
 * was killed, and a child by fork(2) has copies of the fds that keep the program attached. Longer
 * than the watchdog of the unit waits, so that a short hang costs no windows.
 */
#define LEASE_NS 30000000000ull

/* The only element of a map, and memory of the loader's: settings of all windows, and counts. */
struct window_common {
    __u64 netns_cookie; /* of the namespace that the program serves */
    __u64 alive_ns;     /* CLOCK_MONOTONIC, as the owner last wrote */
    __u32 is_paused;    /* the program does nothing */
    __u32 holdout;      /* ARM_SHARE of connections that keep the kernel's window */
    __u64 seed;         /* for the draw, see arm_of */
    __u64 phase;        /* enum holdout_phase, of which that is the share */
    struct window_counts counts;
    __u64 opened[OPENED_SLOTS];
};

#endif
