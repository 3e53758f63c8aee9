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
    /* The program's own: see count_together. A new window of the loader's begins anew. */
    __u32 opened_now;    /* connections that opened since round_ns */
    __u64 round_ns;      /* begin of this round trip, CLOCK_MONOTONIC */
    __u64 opened_before; /* connections that opened in the round trip before it */
};

/* As struct riptide_program_counts. */
enum { WINDOW_BUCKETS = 12 };
struct window_counts {
    __u64 given, paced, kept, held_out, by_cwnd[WINDOW_BUCKETS], segments, not_noted;
};

/*
 * Notes of connections that opened with a window, or were held out from one: only the program knows
 * that, and the kernel's messages do not tell. A note lives as long as its connection: the reader
 * frees it at the destroy event, and renews its time as a dump shows that the connection is open.
 *
 * A connection has two buckets of the table, by its hash. Its note takes the first free slot of the
 * one, else of the other, else that of a note which is too old to be of an open connection, as the
 * reader misses some ends. A younger note stays, so that whether a connection is noted does not
 * depend on how long it lives.
 */
enum {
    OPENED_BUCKETS = 1 << 15,
    OPENED_NOTES = 8,   /* of a bucket, which is a cache line of 64 bytes */
    OPENED_CHOICES = 2, /* buckets of a connection */
};

/*
 * A note is 64 bits; 0 is a free slot. From the highest: 24 bits of the connection's hash; the
 * window, 16 bits, 0 where it was held out; together, 6 bits; the time, 14 bits; four flags. All
 * places are of a member's lowest bit.
 */
enum {
    NOTE_TAG = 40,
    NOTE_INITCWND = 24,
    NOTE_TOGETHER = 18,
    NOTE_TIME = 4,
    NOTE_PACED = 3,
    NOTE_PHASE = 2,
    NOTE_ARM = 1,
    NOTE_COUNTED = 0, /* by the reader: its first flight has counted */
};

enum { NOTE_TOGETHER_MAX = 63, NOTE_TIMES = 1 << 14 };

/* The unit of a note's time is 2^30 ns, about a second: it wraps after 4.9 hours. */
enum { NOTE_TIME_SHIFT = 30 };

/* Units after which a note may be replaced. */
enum { OPENED_KEPT = 256 };

/* Clocks of two processors, or of the reader's last look, may be so many units apart. */
enum { OPENED_SLACK = 8 };

/* Which bucket is the choice, 0 or 1, of a connection. The tag has none of these bits. */
static inline __u64 note_bucket(__u64 hash, int choice)
{
    return (choice ? hash >> 16 : hash) % OPENED_BUCKETS;
}

/* Bits 32 to 55: those above are all 0 where few connections are held out (arm_of). */
static inline __u64 note_tag(__u64 hash)
{
    return hash >> 32 << NOTE_TAG;
}

static inline __u64 note_time(__u64 now_ns)
{
    return now_ns >> NOTE_TIME_SHIFT & (NOTE_TIMES - 1);
}

/* Units since the note's time, and the slack: below it the note is of later than now_ns. */
static inline __u64 note_age(__u64 note, __u64 now_ns)
{
    return ((now_ns >> NOTE_TIME_SHIFT) + OPENED_SLACK - (note >> NOTE_TIME)) & (NOTE_TIMES - 1);
}

static inline int note_is_old(__u64 note, __u64 now_ns)
{
    return note_age(note, now_ns) > OPENED_KEPT + OPENED_SLACK;
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
    __u64 opened[OPENED_BUCKETS][OPENED_NOTES] __attribute__((aligned(64)));
};

#endif
