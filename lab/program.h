/* SPDX-License-Identifier: MIT */
/*
 * What the small programs of the lab and of the tests share: an error ends them, and a clock.
 */
#ifndef LAB_PROGRAM_H
#define LAB_PROGRAM_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline void check(long result, const char *what)
{
    if (result >= 0)
        return;
    perror(what);
    exit(EXIT_FAILURE);
}

static inline double now_s(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

#endif
