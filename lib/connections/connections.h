/* SPDX-License-Identifier: MIT */
/*
 * The backend per connection: a program of the kernel on a cgroup, which gives each TCP connection
 * of it that opens the window of the longest prefix that holds its peer. It changes no route and
 * no rule, so nothing can be sent another way. What is wanted stands in a map of the program and
 * nowhere else; all of it ends with the process, however that ends.
 */
#ifndef RIPTIDE_LIB_CONNECTIONS_CONNECTIONS_H
#define RIPTIDE_LIB_CONNECTIONS_CONNECTIONS_H

#include "../apply/backend.h"
#include "window.h"

#include <riptide/apply.h>

struct connections;

struct connections_config {
    const char *cgroup; /* a directory of cgroup2; NULL: /sys/fs/cgroup, or unified in it */
    int netns_fd;       /* the namespace whose connections get windows; -1: the thread's */
    uint32_t max_windows;
    uint32_t pacing_percent;    /* where what is wanted has none of its own; 0: at once */
    uint32_t pacing_rtt_min_us; /* shorter paths are not paced */
    struct arm_config arms;     /* those held out start as without us */
    bool is_beside_routes;      /* of ours, which may be above the window by */
    uint32_t step_segments;     /* so many segments, or so much of it, as in */
    uint32_t step_percent;      /* struct riptide_router_config */
    bool dry_run;               /* all but the program itself */
    const struct connections *program_of; /* its program serves these as well; NULL: one of our own */
};

/*
 * Opens the cgroup and changes nothing. Errors: -EINVAL and -ENOENT (error names the field),
 * -ENOMEM, -EOPNOTSUPP (a kernel before 5.15).
 */
int connections_new(struct connections **connectionsp, const struct connections_config *config,
                    struct riptide_error *error);

/*
 * Closes. Behind the last whose program it is that is detached, whoever else has its fds; in a child
 * of fork(2) all stays as it is.
 */
struct connections *connections_free(struct connections *connections);

/*
 * Loads the program and attaches it. Errors, each with a line: -EPERM (CAP_BPF, CAP_NET_ADMIN, or
 * somebody else's program has the cgroup to itself), -E2BIG (64 programs are on it), -ENOMEM;
 * -EBUSY where others that share the program give windows to the same namespace. Where the kernel
 * refuses the program, what bpf(2) says, but -EOPNOTSUPP in place of EINVAL.
 */
int connections_start(struct connections *connections, struct riptide_error *error);

/*
 * Loads the program and attaches it for those whose program_of these are, and gives no window
 * itself. Errors: as connections_start.
 */
int connections_keep(struct connections *connections, struct riptide_error *error);

/* What that program has for a network namespace goes, at once: nobody looks after it any more. */
void connections_forget_netns(const struct connections *connections, uint64_t netns_cookie);

/*
 * Takes the namespace's lock (netns.h), where no router has it for the same agent. Errors: those of
 * lock_take; the program is to be stopped then.
 */
int connections_lock(struct connections *connections, struct riptide_error *error);

/* What is wanted for a prefix as the map has it, but for `route_step`. Pure. */
struct window_key window_key_of(const struct riptide_prefix *dst);
struct window window_of(const struct riptide_wanted *wanted);

/* Undoes a start: connections_start may be called again. Errors: those of bpf(2). */
int connections_unload(struct connections *connections);

/*
 * Goes on with another pacing and other arms, at once, and with other steps for windows to come;
 * all else stays as it was. Errors: those of bpf(2); connections open as without the program then,
 * until connections_check has set them.
 */
int connections_reconfigure(struct connections *connections,
                            const struct connections_config *config);

/*
 * As a pause (struct backend), and apart from it: until it is NULL. `why` stays the caller's. Errors:
 * those of bpf(2): it is not so yet, and connections_check tries again.
 */
int connections_step_back(struct connections *connections, const char *why);

/*
 * For each round: tries again what was refused, windows and settings, and attaches the program again
 * where somebody has detached it, or has removed its cgroup and made it again; or says why not. That
 * it was detached is a reason until the next check.
 */
void connections_check(struct connections *connections);

/* Why connections get nothing; NULL: they do. The backend's, and the same until it changes. */
const char *connections_get_reason(const struct connections *connections);

/*
 * What new connections to an address start with because of the program, as the kernel has it; NULL:
 * there is none. Outcomes: RIPTIDE_E_UNKNOWN.
 */
int connections_find(const struct connections *connections, const struct riptide_prefix *dst,
                     struct window *window);

/*
 * Whether first flights can be paced: since Linux 6.1, while the program is attached. Not while
 * paused alone, when windows are learned for after it.
 */
bool connections_can_pace(const struct connections *connections);

/* Whether a configuration with that cgroup would be the same. */
bool connections_are_on(const struct connections *connections, const char *cgroup);

/* As configured or found. */
const char *connections_get_cgroup(const struct connections *connections);

/* Of the network namespace, since the start; 0 where there are none (NULL). */
struct window_counts connections_count(const struct connections *connections);

/*
 * `set` is one call of bpf(2), in force at once. What the kernel refuses is popped as
 * RIPTIDE_ROUTE_FAILED, but for RIPTIDE_E_FULL, and tried again by connections_check; of outcomes
 * that nobody pops the oldest are gone where more than some hundred wait.
 */
extern const struct backend backend_connections;

#endif
