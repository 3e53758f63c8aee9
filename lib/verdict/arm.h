/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The arm of the experiment to which a connection belongs. It depends on the socket's cookie and on
 * a seed alone, so that the kernel's program draws the same arm as the connection is opened and as
 * it is established. Compiles for BPF: no division, no call.
 */
#ifndef RIPTIDE_LIB_VERDICT_ARM_H
#define RIPTIDE_LIB_VERDICT_ARM_H

#include <linux/types.h>

enum arm {
    ARM_WINDOW,  /* the policy's window */
    ARM_HOLDOUT, /* the kernel's own window */
    ARMS,
};

/*
 * A share of all connections, from 0 to 100 percent, in units of 2^-32: arm_of() draws the holdout
 * where the upper half of a hash is below it. The factor is 2^32 / 100, rounded down so that 100 %
 * fits into 32 bits. One connection in 2^32 is then not held out.
 */
#define ARM_SHARE(percent) ((__u32)((percent) * 42949672.95))

/*
 * Connections held out are slower by what windows save. So the first phase holds out the configured
 * share, until there is an answer. The second phase holds out SETTLED_PERCENT.
 */
enum holdout_phase { HOLDOUT_FIRST, HOLDOUT_SETTLED, HOLDOUT_PHASES };

/* Percent. The 99th percentile of all connections does not show so few (docs/verdict.md). */
#define SETTLED_PERCENT 0.2

/* To what a connection was drawn as it opened. */
struct opened {
    enum arm arm;
    enum holdout_phase phase;
};

/*
 * Cookies count up, on each processor within blocks of 4,096 of its own, and a few count down from
 * 2^64 (gen_cookie_next in include/linux/cookie.h). A service may have every second or fourth one.
 * So each bit of a cookie must affect all bits of the hash.
 *
 * This is the finalizer of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
 * generators", OOPSLA 2014), with the constants of D. Stafford's mix 13. Seeds are 2^64 / 1.618
 * apart on its sequence. So the draws of two seeds for one connection, and for its neighbours, are
 * independent.
 */
static inline __u64 arm_hash(__u64 cookie, __u64 seed)
{
    __u64 hash = cookie + seed * 0x9e3779b97f4a7c15ull;

    hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9ull;
    hash = (hash ^ hash >> 27) * 0x94d049bb133111ebull;
    return hash ^ hash >> 31;
}

/* `hash` is the connection's arm_hash, and `holdout` an ARM_SHARE. */
static inline enum arm arm_of(__u64 hash, __u32 holdout)
{
    return hash >> 32 < holdout ? ARM_HOLDOUT : ARM_WINDOW;
}

#endif
