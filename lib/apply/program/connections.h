/* SPDX-License-Identifier: MIT */
/*
 * The backend per connection: a program in the kernel, on a cgroup, gives each opening TCP
 * connection of it the window of the longest prefix that contains its peer. It changes no route and
 * no rule, so it cannot misdirect traffic. The windows are kept only in a map of the program; all
 * of it ends with the process, however that ends.
 */
#ifndef RIPTIDE_LIB_CONNECTIONS_CONNECTIONS_H
#define RIPTIDE_LIB_CONNECTIONS_CONNECTIONS_H

#include "window.h"

#include <riptide/apply.h>

struct connections;

struct connections_config {
    const char *cgroup; /* a cgroup2 directory; NULL: /sys/fs/cgroup, or /sys/fs/cgroup/unified */
    uint32_t max_windows;
    bool pacing;            /* also of windows without a percentage of their own */
    struct arm_config arms; /* connections held out keep the kernel's window */
    bool is_beside_routes;  /* routes of ours exist, whose window may be larger by a step
                               (window_step) */
    bool dry_run;           /* everything except the program itself */
};

/*
 * For connections of the thread's network namespace. Opens the cgroup and changes nothing. Errors: -EINVAL and -ENOENT (error names the field),
 * -ENOMEM, -EOPNOTSUPP (a kernel before 5.15).
 */
int connections_new(struct connections **connectionsp, const struct connections_config *config,
                    struct riptide_error *error);

/*
 * Closes. The program is detached, even if others have its fds; in a child of fork(2) nothing
 * changes.
 */
struct connections *connections_free(struct connections *connections);

/*
 * Loads the program and attaches it. Errors, each with a line: -EPERM (CAP_BPF or CAP_NET_ADMIN is
 * missing, or another program allows no other on the cgroup), -E2BIG (64 programs are on it),
 * -ENOMEM; those of bpf(2), but -EOPNOTSUPP instead of EINVAL.
 */
int connections_start(struct connections *connections, struct riptide_error *error);

/* Key and value of a wanted window in the map, except `route_step`. Pure. */
struct window_key window_key_of(const struct riptide_prefix *dst);
struct window window_of(const struct riptide_wanted *wanted);

/*
 * As riptide_router_set and riptide_router_pop, but in force only after connections_flush; until
 * then set each prefix at most once. It returns how many new windows the map had no space for;
 * others that the kernel refuses are popped as RIPTIDE_ROUTE_FAILED. connections_check tries all of
 * these again. If some hundred outcomes wait unpopped, the oldest are dropped.
 */
int connections_set(struct connections *connections, const struct riptide_wanted *wanted);
uint32_t connections_flush(struct connections *connections);
int connections_pop(struct connections *connections, const struct riptide_route **routep);

/* Undoes a start: connections_start may be called again. Errors: those of bpf(2). */
int connections_unload(struct connections *connections);

/*
 * Two independent pauses; that of connections_step_back lasts until `why`, which the caller owns,
 * is NULL. Errors: those of bpf(2): not yet in force, and connections_check tries again.
 */
int connections_set_paused(struct connections *connections, bool is_paused);
int connections_step_back(struct connections *connections, const char *why);

/*
 * Each round: repeats refused windows and settings, and attaches the program again after it was
 * detached, or its cgroup was removed and made again; or sets the reason. Having been detached is a
 * reason until the next check.
 */
void connections_check(struct connections *connections);

/* Why connections get no windows; NULL: they do. The same pointer until it changes. */
const char *connections_get_reason(const struct connections *connections);

/*
 * The window that the program gives to new connections to an address, as in the kernel; NULL: no
 * object. Outcomes: RIPTIDE_E_UNKNOWN.
 */
int connections_find(const struct connections *connections, const struct riptide_prefix *dst,
                     struct window *window);

/*
 * Whether first flights can be paced: since Linux 6.1, while the program is attached. A pause does
 * not count, as windows are learned for after it.
 */
bool connections_can_pace(const struct connections *connections);

/* As configured or found. */
const char *connections_get_cgroup(const struct connections *connections);

/* Of the network namespace, since the start; 0 for NULL. */
struct window_counts connections_count(const struct connections *connections);

#endif
