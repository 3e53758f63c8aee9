/* SPDX-License-Identifier: MIT */
/*
 * The kernel's clocks in ns. The only place of the library that reads one.
 */
#ifndef RIPTIDE_LIB_AGENT_CLOCK_H
#define RIPTIDE_LIB_AGENT_CLOCK_H

#include "internal.h"

#include <time.h>

static inline uint64_t read_clock(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

#endif
