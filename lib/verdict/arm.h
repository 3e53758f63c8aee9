/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The arm of the experiment to which a connection belongs: from its socket's cookie and a seed
 * only, so that the kernel's program, which gives the window, and the reader of the destroy event
 * compute the same without remembering connections. Compiles for BPF: no division, no call.
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
#define ARM_SHARE(percent) ((__u32)((percent)*42949672.95))

/* As configured. */
struct arm_config {
    __u32 holdout_percent;
    __u32 seed;
};

/* The default initial window of the kernel, segments (RFC 6928). */
enum { KERNEL_CWND = 10 };

/*
 * Cookies count up, on each processor within blocks of 4,096 of its own, and a few count down from
 * 2^64 (gen_cookie_next in include/linux/cookie.h); a service may have every second or fourth one.
 * So each bit must affect all others: the finalizer of SplitMix64 (Steele, Lea and Flood, "Fast
 * splittable pseudorandom number generators", OOPSLA 2014; constants: D. Stafford, mix 13). Seeds
 * are 2^64 / 1.618 apart on its sequence: the draws of two seeds for a connection, and for its
 * neighbours, are independent. `holdout` is an ARM_SHARE.
 */
static inline enum arm arm_of(__u64 cookie, __u64 seed, __u32 holdout)
{
    __u64 hash = cookie + seed * 0x9e3779b97f4a7c15ull;

    hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9ull;
    hash = (hash ^ hash >> 27) * 0x94d049bb133111ebull;
    return (hash ^ hash >> 31) >> 32 < holdout ? ARM_HOLDOUT : ARM_WINDOW;
}

#endif
