/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The arm of the experiment to which a connection belongs: from its socket's cookie and a seed
 * only, so that the kernel's program draws it alike as the connection is opened and established.
 * Compiles for BPF: no division, no call.
 */
#ifndef RIPTIDE_LIB_VERDICT_ARM_H
#define RIPTIDE_LIB_VERDICT_ARM_H

#include <linux/types.h>

enum arm {
    ARM_WINDOW,  /* the policy's window */
    ARM_HOLDOUT, /* the kernel's own window */
    ARMS,
};

/* A share of all connections, from percent; 100 % leaves out one connection in 2^32. */
#define ARM_SHARE(percent) ((__u32)((percent) * 42949672.95))

/*
 * The share held out is the configured one until the first verdict, and a small one after it, which
 * the tail of all connections does not show.
 */
enum holdout_phase { HOLDOUT_FIRST, HOLDOUT_SETTLED, HOLDOUT_PHASES };

/* Of the second phase, percent. */
#define SETTLED_PERCENT 0.2

/* As what a connection opened. */
struct opened {
    enum arm arm;
    enum holdout_phase phase;
};

/*
 * Cookies count up, on each processor within blocks of 4,096 of its own, and a few count down from
 * 2^64 (gen_cookie_next in include/linux/cookie.h); a service may have every second or fourth one.
 * So each bit must affect all others: the finalizer of SplitMix64 (Steele, Lea and Flood, "Fast
 * splittable pseudorandom number generators", OOPSLA 2014; constants: D. Stafford, mix 13). Seeds
 * are 2^64 / 1.618 apart on its sequence: the draws of two seeds for a connection, and for its
 * neighbours, are independent.
 */
static inline __u64 arm_hash(__u64 cookie, __u64 seed)
{
    __u64 hash = cookie + seed * 0x9e3779b97f4a7c15ull;

    hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9ull;
    hash = (hash ^ hash >> 27) * 0x94d049bb133111ebull;
    return hash ^ hash >> 31;
}

/* `holdout` is an ARM_SHARE. */
static inline enum arm arm_of(__u64 cookie, __u64 seed, __u32 holdout)
{
    return arm_hash(cookie, seed) >> 32 < holdout ? ARM_HOLDOUT : ARM_WINDOW;
}

#endif
