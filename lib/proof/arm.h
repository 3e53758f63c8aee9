/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Into which arm of the experiment a connection falls: by its socket's cookie and a seed alone, so
 * that the program of the kernel, which gives the window, and who reads the destroy event compute
 * the same, and nobody has to remember connections. Compiles for BPF: no division, no call.
 */
#ifndef RIPTIDE_LIB_PROOF_ARM_H
#define RIPTIDE_LIB_PROOF_ARM_H

#include <linux/types.h>

enum arm {
    ARM_WINDOW,  /* as everybody: what the policy has computed */
    ARM_HOLDOUT, /* the kernel's own window, as without us */
    ARM_SMALLER, /* trial: the next smaller window */
    ARM_LARGER,  /* trial: the next larger one */
    ARMS,
};

/* A share of all connections, from percent; 100 % is one connection in 2^32 less than all. */
#define ARM_SHARE(percent) ((__u32)((percent)*42949672.95))

/* Together at most 100 %; all else is ARM_WINDOW. */
struct arm_shares {
    __u32 holdout; /* ARM_SHARE(5) by default */
    __u32 smaller, larger;
};

/*
 * Cookies count up, on each processor within blocks of 4,096 of its own, and a few count down from
 * 2^64 (gen_cookie_next in include/linux/cookie.h); a service may have each second or fourth one.
 * So each bit has to reach all others: the finalizer of SplitMix64 (Steele, Lea and Flood, "Fast
 * splittable pseudorandom number generators", OOPSLA 2014; constants: D. Stafford, mix 13). Seeds
 * lie 2^64 / 1.618 apart on its sequence: what two of them draw for a connection, and for its
 * neighbours, is independent.
 */
static inline enum arm arm_of(__u64 cookie, __u64 seed, const struct arm_shares *shares)
{
    __u64 hash = cookie + seed * 0x9e3779b97f4a7c15ull;
    __u32 at;

    hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9ull;
    hash = (hash ^ hash >> 27) * 0x94d049bb133111ebull;
    at = (__u32)((hash ^ hash >> 31) >> 32);
    if (at < shares->holdout)
        return ARM_HOLDOUT;
    at -= shares->holdout;
    if (at < shares->smaller)
        return ARM_SMALLER;
    at -= shares->smaller;
    return at < shares->larger ? ARM_LARGER : ARM_WINDOW;
}

#endif
