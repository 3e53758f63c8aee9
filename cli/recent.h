/* SPDX-License-Identifier: MIT */
/*
 * The last lines of a program's log that say something is wrong, for those who ask later. Pure.
 */
#ifndef CLI_RECENT_H
#define CLI_RECENT_H

#include "values.h"

#include <time.h>

/* How many are kept. */
#define RECENT_LINES 8

struct recent_line {
    time_t time; /* CLOCK_REALTIME */
    enum log_level level;
    char text[256]; /* cut where it is longer */
};

void recent_add(time_t time, enum log_level level, const char *text);

/* The n-th one kept, oldest first; NULL behind the newest. */
const struct recent_line *recent_get(unsigned int n);

#endif
