/* SPDX-License-Identifier: MIT */
/* A word for how the daemon is, why, and what to do about it. */
#ifndef CLI_DIAGNOSIS_H
#define CLI_DIAGNOSIS_H

#include "health.h"

struct diagnosis {
    const char *word;            /* as docs/control.md lists them */
    const char *remedy;          /* what to do; NULL: nothing */
    struct riptide_error reason; /* what is not as configured; empty: all is */
    bool is_by_rules;            /* rules of others, which come before riptided's, are why */
    /* Connections to destinations with a window that closed in the last minute, and had opened
       without it; 0: no noticeable share, or something worse is named. */
    uint64_t n_missed;
};

/* Names what is worst: first what stops all windows, then what stops some, then what stops none. */
void diagnosis_make(struct health *health, struct diagnosis *diagnosis);

/*
 * Whether most connections that closed in the last minute had opened without their destination's
 * window, and are not all older than it: `diagnosis` says so, as they are outside of the program's cgroup, for example.
 */
bool diagnosis_find_missed(const struct health *health, struct diagnosis *diagnosis);

#endif
