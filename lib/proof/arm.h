/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The arm of the experiment to which a connection belongs: from its socket's cookie and a seed
 * only, so that the kernel's program, which gives the window, and the reader of the destroy event
 * compute the same without remembering connections. Compiles for BPF: no division, no call.
 */
#ifndef RIPTIDE_LIB_PROOF_ARM_H
#define RIPTIDE_LIB_PROOF_ARM_H

#include <linux/types.h>

enum arm {
    ARM_WINDOW,  /* the policy's window */
    ARM_HOLDOUT, /* the kernel's own window */
    ARM_SMALLER, /* trial: the next smaller window */
    ARM_LARGER,  /* trial: the next larger one */
    ARMS,
};

/* A share of all connections, from percent; 100 % leaves out one connection in 2^32. */
#define ARM_SHARE(percent) ((__u32)((percent)*42949672.95))

/* Together at most 100 %; the rest is ARM_WINDOW. */
struct arm_shares {
    __u32 holdout; /* ARM_SHARE(5) by default */
    __u32 smaller, larger;
};

/* As configured. */
struct arm_config {
    __u32 holdout_percent;
    __u32 trial_percent; /* with the smaller window; as many have the larger one */
    __u32 seed;
    __u32 turn_ms; /* destinations are drawn, for this time each (turns.h); 0: connections are drawn
                    */
};

static inline struct arm_shares arm_shares_of(const struct arm_config *config)
{
    return (struct arm_shares){ ARM_SHARE(config->holdout_percent),
                                ARM_SHARE(config->trial_percent),
                                ARM_SHARE(config->trial_percent) };
}

/* Whether their sums must not be added: other shares, or connections against turns. */
static inline int arms_differ(const struct arm_config *one, const struct arm_config *other)
{
    return one->holdout_percent != other->holdout_percent ||
           one->trial_percent != other->trial_percent || one->turn_ms != other->turn_ms;
}

/* The unit that their books count. */
static inline const char *arms_unit(const struct arm_config *config)
{
    return config->turn_ms > 0 ? "turns" : "connections";
}

/* Whether there is a comparison. */
static inline int has_arms(const struct arm_config *config)
{
    return config->holdout_percent > 0 || config->trial_percent > 0;
}

/* The default initial window of the kernel, segments (RFC 6928). */
enum { KERNEL_CWND = 10 };

/*
 * The window of an arm where the policy's is `cwnd`, segments, up to 65,535. A trial is a step of
 * the square root of two, rounded, so that two steps halve or double any window; but not below the
 * kernel's window and not above `cwnd_max` (0: no bound). A window at such a bound has no trial on
 * that side: the arm has the window itself.
 */
static inline __u32 arm_cwnd(enum arm arm, __u32 cwnd, __u32 cwnd_max)
{
    const __u32 step = 46341; /* 2^16 / sqrt(2) */
    __u32 smaller = (cwnd * step + (1 << 15)) >> 16, larger = (cwnd * step + (1 << 14)) >> 15;

    if (arm == ARM_SMALLER && cwnd > KERNEL_CWND)
        return smaller > KERNEL_CWND ? smaller : KERNEL_CWND;
    if (arm == ARM_LARGER)
        return cwnd_max > 0 && larger > cwnd_max ? cwnd_max : larger;
    return cwnd;
}

/*
 * Cookies count up, on each processor within blocks of 4,096 of its own, and a few count down from
 * 2^64 (gen_cookie_next in include/linux/cookie.h); a service may have every second or fourth one.
 * So each bit must affect all others: the finalizer of SplitMix64 (Steele, Lea and Flood, "Fast
 * splittable pseudorandom number generators", OOPSLA 2014; constants: D. Stafford, mix 13). Seeds
 * are 2^64 / 1.618 apart on its sequence: the draws of two seeds for a connection, and for its
 * neighbours, are independent.
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
