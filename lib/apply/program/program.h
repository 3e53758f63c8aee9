/* SPDX-License-Identifier: MIT */
/*
 * The backend RIPTIDE_PROGRAM: a program in the kernel (program.bpf.c), on a cgroup, gives each
 * opening TCP connection of one network namespace the window of the longest prefix that contains
 * its peer. It changes no route and no rule, so it cannot misdirect traffic. Its windows are only
 * in a map of the program; all of it ends with the process, however that ends.
 */
#ifndef RIPTIDE_LIB_PROGRAM_PROGRAM_H
#define RIPTIDE_LIB_PROGRAM_PROGRAM_H

#include "apply/backend.h"
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
    struct backend backend;
    const struct riptide_applier_config *config;
    bool can_pace;    /* as configured; since the load, if this kernel can */
    bool is_detached; /* as last found */
    uint64_t netns_cookie;
    struct cgroup cgroup;
    int fds[FDS];                  /* -1: not loaded, not attached */
    struct window_common *common;  /* memory of the map; NULL: not loaded */
    enum riptide_reason reason;    /* why it is not attached, or was not for a moment */
    struct riptide_error texts[2]; /* of the reason, in turn: another one has another address */
    const char *reason_text;       /* one of them; NULL: there is no reason */
    struct prefix_table queue;     /* of struct queued: both lists, at most max_windows */
    struct window_list waiting;
    struct window_list outcomes;
    int refusal; /* -errno of the first that waits, for which all others wait; 0: not tried */
};

/* NULL: NULL. */
static inline struct program *program_of(const struct backend *backend)
{
    return (struct program *)backend;
}

/*
 * What the program alone has; `program` NULL, or one that does not run: they do nothing. Percent
 * and phase are those of riptide_applier_set_holdout, in their ranges.
 */
void program_set_holdout(struct program *program, double percent, uint32_t phase);

/* Says by its note how the connection of a sample opened. Returns whether there was one. */
bool program_annotate(struct program *program, struct riptide_sample *sample);

/*
 * cgroup.c: finds `path`; NULL: the root of cgroup2. Where this mount namespace hides it, as `ip
 * netns exec` does by a /sys of its own, it makes a mount that nobody else sees. Errors, each with a
 * line: -ENOENT (no such cgroup), -EINVAL, -ENOMEM.
 */
int cgroup_find(struct cgroup *cgroup, const char *path, struct riptide_error *error);

/* An fd, also of a directory that was made anew. Errors: -ENOENT, which may pass; -EINVAL. */
int cgroup_open(const struct cgroup *cgroup, struct riptide_error *error);

/*
 * windows.c: for the row. A window takes the place of one of its destination that waits;
 * RIPTIDE_E_FULL: max_windows others wait. A dispatch writes up to 64 windows of a started program;
 * RIPTIDE_E_MORE: others wait. What the kernel refuses is popped as RIPTIDE_ROUTE_FAILED.
 */
int windows_set(struct backend *backend, const struct riptide_wanted *wanted);
int windows_dispatch(struct backend *backend);
int windows_pop(struct backend *backend, struct riptide_route *route);
int windows_find(const struct backend *backend, const struct riptide_prefix *dst,
                 struct riptide_route *route);
bool windows_are_idle(const struct program *program); /* nothing waits but for the kernel */

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
