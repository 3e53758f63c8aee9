/* SPDX-License-Identifier: MIT */
/*
 * The backend RIPTIDE_PROGRAM: a program in the kernel, on a cgroup, gives each opening TCP
 * connection of it the window of the longest prefix that contains its peer. It changes no route and
 * no rule, so it cannot misdirect traffic. The windows are kept only in a map of the program; all
 * of it ends with the process, however that ends.
 */
#ifndef RIPTIDE_LIB_PROGRAM_WINDOWS_H
#define RIPTIDE_LIB_PROGRAM_WINDOWS_H

#include "window.h"

#include <riptide/apply.h>

struct windows;

struct windows_config {
    const char *cgroup; /* a cgroup2 directory; NULL: its root (cgroup.h) */
    uint32_t max_windows;
    bool pacing;            /* also of windows without a percentage of their own */
    struct arm_config arms; /* connections held out keep the kernel's window */
    bool is_beside_routes;  /* routes of ours exist, whose window may be larger by a step
                               (window_step) */
    bool dry_run;           /* everything except the program itself */
};

/*
 * For connections of the thread's network namespace. Opens the cgroup and changes nothing. Errors:
 * -EINVAL and -ENOENT (error names the field), -ENOMEM, -EOPNOTSUPP (a kernel before 5.15).
 */
int windows_new(struct windows **windowsp, const struct windows_config *config,
                struct riptide_error *error);

/*
 * Closes. The program is detached, even if others have its fds; in a child of fork(2) nothing
 * changes.
 */
struct windows *windows_free(struct windows *windows);

/*
 * Loads the program and attaches it. Errors, each with a line: -EPERM (CAP_BPF or CAP_NET_ADMIN is
 * missing, or another program allows no other on the cgroup), -E2BIG (64 programs are on it),
 * -ENOMEM; those of bpf(2), but -EOPNOTSUPP instead of EINVAL.
 */
int windows_start(struct windows *windows, struct riptide_error *error);

/* Whether routes of ours exist beside it (is_beside_routes), for windows written from now on. */
void windows_set_beside_routes(struct windows *windows, bool is_beside_routes);

/* Undoes a start: windows_start may be called again. Errors: those of bpf(2). */
int windows_stop(struct windows *windows);

/*
 * As those of an applier; of several windows of a destination the last one counts. A dispatch writes up to 64 windows, if they are started; RIPTIDE_E_MORE:
 * others wait. What the kernel refuses is popped as RIPTIDE_ROUTE_FAILED (-ENOSPC: max_windows),
 * and is to be written again after windows_check. If some hundred outcomes wait unpopped, the
 * oldest are dropped.
 */
int windows_set(struct windows *windows, const struct riptide_wanted *wanted);
int windows_dispatch(struct windows *windows);
int windows_pop(struct windows *windows, const struct riptide_route **routep);

/*
 * A pause, for the reason `why`, which the caller owns; NULL: none. Errors: those of bpf(2): not yet
 * in force, and windows_check tries again.
 */
int windows_set_paused(struct windows *windows, const char *why);

/*
 * Each second or so: repeats refused settings, hands refused windows to the next dispatch, and
 * attaches the program again after it was detached, or its cgroup was removed and made again; or
 * sets the reason. Having been detached is a reason until the next check.
 */
void windows_check(struct windows *windows);

/* Why the program gives no windows; NULL: it does. The same pointer until it changes. */
const char *windows_get_reason(const struct windows *windows);

/*
 * The window that the program gives to new connections to an address, as in the kernel; NULL: no
 * object. Outcomes: RIPTIDE_E_UNKNOWN.
 */
int windows_find(const struct windows *windows, const struct riptide_prefix *dst,
                 struct window *window);

/*
 * Whether first flights can be paced: since Linux 6.1, while the program is attached. A pause does
 * not count, as windows are learned for after it.
 */
bool windows_can_pace(const struct windows *windows);

/* As configured or found. */
const char *windows_get_cgroup(const struct windows *windows);

/* Of the network namespace, since the start. */
struct window_counts windows_count(const struct windows *windows);

/* Key and value of a wanted window in the map. Pure. */
struct window_key window_key_of(const struct riptide_prefix *dst);
struct window window_of(const struct windows_config *config, const struct riptide_wanted *wanted);

#endif
