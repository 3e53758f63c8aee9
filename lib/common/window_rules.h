/* SPDX-License-Identifier: MIT */
/* Rules about windows that more than one stage follows. Pure; compiles for BPF. */
#ifndef RIPTIDE_LIB_WINDOW_RULES_H
#define RIPTIDE_LIB_WINDOW_RULES_H

#include "tcp.h"

#include <stdbool.h>
#include <stdint.h>

/* The window of connections without us. A base route without an initcwnd, 0, has the kernel's. */
static inline uint32_t window_without_us(uint32_t base_cwnd)
{
    return base_cwnd > 0 ? base_cwnd : TCP_INIT_CWND;
}

/*
 * The least that a destination gets: its window without us, 0 where that is not known, as the owner
 * of its base route knows the path. Only what lowers a window on purpose, losses or a hint, goes
 * below.
 */
static inline uint32_t window_floor(uint32_t without_us, bool may_lower)
{
    return may_lower ? 0 : without_us;
}

/*
 * How far a window may move and is not rewritten: 2 segments, or 10 % of it. Each change of a route
 * makes the kernel validate every cached route of the namespace again.
 */
static inline uint32_t window_step(uint32_t cwnd)
{
    return cwnd >= 30 ? cwnd / 10 : 2;
}

/* The largest window that is kept where this one is wanted: it is within a step of it. */
static inline uint32_t window_kept_max(uint32_t cwnd)
{
    const uint32_t by_tenths = cwnd + cwnd / 9;

    return by_tenths > cwnd + 2 ? by_tenths : cwnd + 2;
}

/* Whether a move from one window to another is within a step. */
static inline bool window_is_near(uint32_t from, uint32_t to)
{
    const uint32_t distance = from < to ? to - from : from - to;

    return distance <= window_step(from);
}

#endif
