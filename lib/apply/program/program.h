/* SPDX-License-Identifier: MIT */
/*
 * The backend RIPTIDE_PROGRAM: a program in the kernel (program.bpf.c), on a cgroup, gives each
 * opening TCP connection of one network namespace the window of the longest prefix that contains
 * its peer. It changes no route and no rule, so it cannot misdirect traffic. Its windows are only
 * in a map of the program; all of it ends with the process, however that ends.
 */
#ifndef RIPTIDE_LIB_PROGRAM_PROGRAM_H
#define RIPTIDE_LIB_PROGRAM_PROGRAM_H

#include "apply/decide.h"
#include "apply/program/window.h"
#include "prefix_table.h"

#include <linux/bpf.h>
#include <riptide/apply.h>

/* The directory of cgroup2 whose connections the program serves. */
struct cgroup {
    char *path;       /* as if /sys/fs/cgroup were not hidden */
    const char *name; /* seen from at_fd */
    int at_fd;        /* where it is hidden: the root of cgroup2; else AT_FDCWD */
};

/* A window that waits to be written, or of which the outcome waits to be popped. */
struct queued {
    struct riptide_wanted wanted; /* begins with the destination, the key of the table */
    uint32_t before;              /* slots in the same list */
    uint32_t after;
    bool is_written; /* it is in the list of outcomes, else in that of those that wait */
    bool is_told;    /* that the kernel refuses it was popped */
};

/* Slots of the queue. */
struct window_list {
    uint32_t first;
    uint32_t last;
    uint32_t n; /* 0: first and last mean nothing */
};

/* FD_CGROUP: the directory to which the program was attached last. */
enum { FD_WINDOWS, FD_COMMON, FD_PROGRAM, FD_LINK, FD_CGROUP, FDS };

struct program {
    const struct riptide_applier_config *config;
    bool is_beside_routes; /* routes of ours may have a larger window (window_kept_max) */
    bool can_pace;         /* as configured; since the load, if this kernel can */
    bool is_detached;      /* as last found */
    uint64_t netns_cookie;
    struct cgroup cgroup;
    int fds[FDS];                 /* -1: not loaded, not attached */
    struct window_common *common; /* memory of the map; NULL: not loaded */
    bool is_paused;
    enum riptide_reason reason;    /* why it is not attached, or was not for a moment */
    struct riptide_error texts[2]; /* of the reason, in turn: another one has another address */
    const char *reason_text;       /* one of them; NULL: there is no reason */
    struct prefix_table queue;     /* of struct queued: both lists, at most max_windows */
    struct window_list waiting;
    struct window_list outcomes;
    int refusal; /* -errno of the first that waits, for which all others wait; 0: not tried */
};

/*
 * For connections of the thread's network namespace. Looks for config->cgroup and changes nothing;
 * the configuration stays the caller's. Errors, each with a line: -ENOENT (no such cgroup),
 * -EINVAL, -EOPNOTSUPP (a kernel before 5.15), -ENOMEM.
 */
int program_new(struct program **programp, const struct riptide_applier_config *config,
                struct riptide_error *error);

/* Only closes: what the program has ends with the last copy of its fds. */
struct program *program_free(struct program *program);

/* Loads and attaches it. Errors: those of bpf(2), -EOPNOTSUPP for EINVAL. */
int program_start(struct program *program, struct riptide_error *error);

/* Undoes a start, whoever has copies of its fds; another may follow. Errors: those of bpf(2). */
int program_stop(struct program *program);

/*
 * Each second or so: attaches the program again after it was detached, or its cgroup was removed
 * and made again. That is the reason until the next check.
 */
void program_check(struct program *program);

/* Whether windows are in force: neither paused nor detached. */
bool program_gives_windows(const struct program *program);

/*
 * windows.c: as those of an applier. A window takes the place of one of its destination that waits;
 * RIPTIDE_E_FULL: max_windows others wait. A dispatch writes up to 64 windows of a started program;
 * RIPTIDE_E_MORE: others wait. What the kernel refuses is popped as RIPTIDE_ROUTE_FAILED.
 */
int windows_set(struct program *program, const struct riptide_wanted *wanted);
int windows_dispatch(struct program *program);
bool windows_are_idle(const struct program *program); /* nothing waits but for the kernel */
int windows_pop(struct program *program, struct riptide_route *route);
int windows_find(const struct program *program, const struct riptide_prefix *dst,
                 struct riptide_route *route);

/*
 * Call it each second or so. A window that the kernel refused is tried again before all others, as
 * it has no memory for those either. Of too many outcomes the oldest are dropped.
 */
void windows_tick(struct program *program);

/* entry.c, pure: key and value of a wanted window in the map. */
struct window_key window_key_of(const struct riptide_prefix *dst);
struct window window_of(const struct riptide_wanted *wanted,
                        const struct program_decision *decision);

#endif
