/* SPDX-License-Identifier: MIT */
/* How open connections began: riptided knows it of each, and cgroup2 which ones it cannot reach. */
#ifndef CLI_OPENINGS_H
#define CLI_OPENINGS_H

#include <limits.h>
#include <riptide/observe.h>

enum opening_how {
    OPENING_PROGRAM,   /* with a window of the program's */
    OPENING_ROUTE,     /* with that of a route, to which its times are no contradiction */
    OPENING_HELD_OUT,  /* with the kernel's window, as the program drew it */
    OPENING_OUTSIDE,   /* without one of the program's: its socket is outside of the cgroup */
    OPENING_WITHOUT,   /* with the kernel's window, which it still has, as it has sent nothing */
    OPENING_UNKNOWN,   /* riptided knows nothing of it: it may be older than riptided */
    OPENING_NO_ANSWER, /* riptided does not answer */
    OPENING_HOWS,
};

struct opening {
    enum opening_how how;
    uint32_t initcwnd; /* segments, of riptided's window; 0: it has none, or it is not known */
    uint32_t window;   /* segments, that of its destination now; 0: it has none */
};

/* A row of questions. All zero but `control`: none was asked. */
struct openings {
    const char *control;   /* the socket of riptided */
    bool is_silent;        /* it did not answer once, and is not asked again */
    char cgroup[PATH_MAX]; /* of the program, by the last answer; empty: there is no program */
    uint64_t cgroup_id;    /* of the last socket that was searched for below it; 0: none was */
    bool is_outside;       /* that one is not below it */
};

/*
 * riptided forgets a connection as it closes. A socket whose cgroup is not known, or cannot be
 * searched for from here, does not count as outside.
 */
struct opening openings_ask(struct openings *openings, const struct riptide_sample *sample);

#endif
