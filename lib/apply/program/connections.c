/* SPDX-License-Identifier: MIT */
/*
 * Windows in the map of the program (program.c). Only the kernel remembers those that it has; the
 * others wait here.
 */
#include "apply/program/connections.h"

#include "apply/program/bpf.h"
#include "apply/program/program.h"
#include "internal.h"
#include "prefix.h"
#include "tools.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Debian 11's headers do not have it. */
#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

/* Outcomes that nobody pops: more than the agent sets between two chances to pop. */
enum { MAX_OUTCOMES = 512 };

/* Windows of one call of bpf(2): one each takes nearly twice the processor time. */
enum { MAX_WRITTEN = 64 };

struct outcome {
    struct riptide_prefix dst;
    uint32_t initcwnd;
    int error;
};

struct connections {
    pid_t pid; /* of the process that made it */
    struct connections_config config;
    struct program *program;
    int windows_fd; /* the map of the namespace; -1: there is none */
    uint64_t netns_cookie;
    bool is_paused;
    const char *why_back; /* as it was given; NULL: windows are given */
    int settings_error;   /* the kernel has refused them since; 0: it has them */
    const char *why_off;  /* by what it has; NULL: windows are given */
    struct riptide_error why_refused;
    struct riptide_error whys[2]; /* in turn: another reason has another address */
    const char *reason;           /* one of them; NULL: there is none */
    bool is_detached;             /* as last found */
    struct riptide_wanted
        *waiting; /* for the next flush; first those that the kernel has refused */
    uint32_t n_waiting, n_refused, waiting_capacity;
    struct outcome outcomes[MAX_OUTCOMES]; /* a ring */
    uint32_t n_set, n_popped;
    struct riptide_route popped;
};

static void connections_freep(struct connections **connectionsp)
{
    connections_free(*connectionsp);
}

/* Of the thread's network namespace, unique until reboot. */
static int read_netns_cookie(struct connections *connections, struct riptide_error *error)
{
    socklen_t n_bytes = sizeof(connections->netns_cookie);
    CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &connections->netns_cookie,
                              &n_bytes) == 0)
        return 0;
    if (errno != ENOPROTOOPT)
        return -errno;
    error_set(error, "windows per connection need Linux 5.15");
    return -EOPNOTSUPP;
}

static int connections_make(struct connections **connectionsp,
                            const struct connections_config *config, struct riptide_error *error)
{
    CLEANUP(connections_freep) struct connections *connections = calloc(1, sizeof(*connections));
    int r;

    if (!connections)
        return -ENOMEM;
    connections->pid = getpid();
    connections->config = *config;
    connections->windows_fd = -1;
    r = program_new(&connections->program, config->cgroup, error);
    if (r == 0)
        r = read_netns_cookie(connections, error);
    if (r < 0)
        return r;
    *connectionsp = connections;
    connections = NULL;
    return 0;
}

int connections_new(struct connections **connectionsp, const struct connections_config *config,
                    struct riptide_error *error)
{
    error_set(error, "%s", "");
    return error_fill(error, connections_make(connectionsp, config, error));
}

struct connections *connections_free(struct connections *connections)
{
    if (!connections)
        return NULL;
    if (connections->program && !is_forked(connections->pid, NULL))
        connections_unload(connections);
    program_free(connections->program);
    closep(&connections->windows_fd);
    free(connections->waiting);
    free(connections);
    return NULL;
}

/*
 * Where the kernel refuses them it is to have none: better as without the program than by older
 * ones, for a pause, for what steps back and for books of other shares. Errors: older ones are in
 * force, or none are and windows are wanted.
 */
static int write_settings(struct connections *connections)
{
    const char *why = connections->is_paused ? "paused" : connections->why_back;
    const struct window_settings settings = {
        .is_paused = why != NULL,
        .pacing_rtt_min_us = PACING_RTT_MIN_US,
        .pacing_percent = connections->config.pacing ? TCP_PACING_PERCENT : 0,
        .holdout = ARM_SHARE(connections->config.arms.holdout_percent),
        .seed = connections->config.arms.seed,
    };
    int map_fd = connections->program->maps[MAP_SETTINGS], r = 0, removed = 0;

    if (connections->windows_fd >= 0)
        r = bpf_set_element(map_fd, &connections->netns_cookie, &settings);
    connections->settings_error = r;
    if (r < 0) {
        error_set(&connections->why_refused, "the kernel refuses the program's settings: %s",
                  bpf_error_text(r));
        removed = bpf_remove_element(map_fd, &connections->netns_cookie);
    }
    if (removed < 0 && removed != -ENOENT)
        return r;
    connections->why_off = why || r == 0 ? why : connections->why_refused.text;
    return why ? 0 : r;
}

int connections_start(struct connections *connections, struct riptide_error *error)
{
    int r = 0;

    error_set(error, "%s", "");
    if (!connections->config.dry_run)
        r = program_load(connections->program, error);
    if (r == 0 && !connections->config.dry_run)
        r = program_add_netns(connections->program, connections->netns_cookie,
                              connections->config.max_windows, &connections->windows_fd, error);
    if (r == 0 && (r = write_settings(connections)) < 0)
        error_set(error, "%s", connections->why_refused.text);
    if (r == 0 && !connections->config.dry_run)
        r = program_attach(connections->program, error);
    if (r < 0)
        connections_unload(connections);
    return error_fill(error, r);
}

int connections_unload(struct connections *connections)
{
    closep(&connections->windows_fd);
    return program_unload(connections->program);
}

struct window_key window_key_of(const struct riptide_prefix *dst)
{
    struct window_key key = { .prefix_bits = dst->len };
    size_t n_bytes = prefix_family_bits(dst->family) / 8u, at = sizeof(key.address) - n_bytes;

    if (dst->family == AF_INET) {
        key.prefix_bits += 96;
        key.address[10] = key.address[11] = 0xff;
    }
    memcpy(key.address + at, dst->addr, n_bytes);
    return key;
}

struct window window_of(const struct riptide_wanted *wanted)
{
    uint32_t max = wanted->cwnd_max;

    return (struct window){
        .initcwnd = max > 0 && wanted->initcwnd > max ? max : wanted->initcwnd,
        .may_lower = wanted->may_lower,
        .rto_min_us = wanted->rto_min_us,
        .receive_bytes = wanted->receive_bytes,
        .pacing_percent = wanted->pacing_percent,
        .rtt_us = wanted->rtt_us,
        .is_ipv6_alone = wanted->dst.family == AF_INET6 && wanted->dst.len < 96,
    };
}

static struct window window_in(const struct connections *connections,
                               const struct riptide_wanted *wanted)
{
    struct window window = window_of(wanted);

    if (connections->config.is_beside_routes) {
        window.route_step = window_step(window.initcwnd);
        window.base_cwnd = wanted->base_cwnd > 0 ? wanted->base_cwnd : KERNEL_CWND;
    }
    return window;
}

/*
 * Gives the first of `n` to the kernel, and returns how many have the result *rp. -ENOENT: the
 * window to remove does not exist.
 */
static uint32_t write_some(const struct connections *connections,
                           const struct riptide_wanted *wanted, uint32_t n, int *rp)
{
    struct window_key keys[MAX_WRITTEN];
    struct window windows[MAX_WRITTEN];
    uint32_t n_written = 0;

    *rp = 0;
    if (connections->windows_fd < 0)
        return n;
    for (; n_written < n && n_written < MAX_WRITTEN && wanted[n_written].initcwnd > 0;
         n_written++) {
        keys[n_written] = window_key_of(&wanted[n_written].dst);
        windows[n_written] = window_in(connections, &wanted[n_written]);
    }
    if (n_written > 0) {
        *rp = bpf_set_elements(connections->windows_fd, keys, windows, &n_written);
    } else {
        keys[0] = window_key_of(&wanted->dst);
        *rp = bpf_remove_element(connections->windows_fd, &keys[0]);
    }
    if (n_written == 0)
        return 1;
    *rp = 0;
    return n_written;
}

/* Something newer is wanted. */
static void forget_refused(struct connections *connections, const struct riptide_prefix *dst)
{
    struct riptide_wanted *waiting = connections->waiting;

    for (uint32_t i = 0; i < connections->n_refused; i++) {
        if (!riptide_prefix_equal(&waiting[i].dst, dst))
            continue;
        waiting[i] = waiting[--connections->n_refused];
        waiting[connections->n_refused] = waiting[--connections->n_waiting];
        return;
    }
}

static void note(struct connections *connections, const struct riptide_wanted *wanted, int error)
{
    connections->outcomes[connections->n_set++ % MAX_OUTCOMES] =
        (struct outcome){ wanted->dst, wanted->initcwnd, error };
    if (connections->n_set - connections->n_popped > MAX_OUTCOMES)
        connections->n_popped = connections->n_set - MAX_OUTCOMES;
}

int connections_set(struct connections *connections, const struct riptide_wanted *wanted)
{
    forget_refused(connections, &wanted->dst);
    return array_append(&connections->waiting, &connections->n_waiting,
                        &connections->waiting_capacity, wanted, sizeof(*wanted));
}

/* Writes those that wait, from the i-th on. */
static uint32_t write_from(struct connections *connections, uint32_t i)
{
    struct riptide_wanted *waiting = connections->waiting;
    uint32_t n_refused = i, n_full = 0, n;

    for (; i < connections->n_waiting; i += n) {
        int r;

        n = write_some(connections, &waiting[i], connections->n_waiting - i, &r);
        for (uint32_t at = i; at < i + n && r != -ENOENT; at++) {
            bool is_first = at >= connections->n_refused;

            n_full += is_first && r == -ENOSPC;
            if (r == 0 || (is_first && r != -ENOSPC))
                note(connections, &waiting[at], r);
            if (r < 0)
                waiting[n_refused++] = waiting[at];
        }
    }
    connections->n_waiting = connections->n_refused = n_refused;
    return n_full;
}

/* There may be one for each part of a round: refused windows wait for the check. */
uint32_t connections_flush(struct connections *connections)
{
    return write_from(connections, connections->n_refused);
}

int connections_pop(struct connections *connections, const struct riptide_route **routep)
{
    const struct outcome *outcome = &connections->outcomes[connections->n_popped % MAX_OUTCOMES];
    struct riptide_route *route = &connections->popped;

    if (connections->n_popped == connections->n_set)
        return RIPTIDE_E_AGAIN;
    connections->n_popped++;
    *route = (struct riptide_route){
        .dst = outcome->dst,
        .state = outcome->error      ? RIPTIDE_ROUTE_FAILED
                 : outcome->initcwnd ? RIPTIDE_ROUTE_APPLIED
                                     : RIPTIDE_ROUTE_WITHDRAWN,
        .initcwnd = outcome->initcwnd,
        .error = outcome->error,
        .backend = RIPTIDE_CONNECTIONS,
    };
    if (outcome->error)
        strncpy(route->reason, "windows per connection", sizeof(route->reason) - 1);
    *routep = route;
    return 0;
}

int connections_set_paused(struct connections *connections, bool is_paused)
{
    connections->is_paused = is_paused;
    return write_settings(connections);
}

int connections_step_back(struct connections *connections, const char *why)
{
    connections->why_back = why;
    return write_settings(connections);
}

void connections_check(struct connections *connections)
{
    struct riptide_error *why = &connections->whys[connections->reason == connections->whys[0].text];
    int r;

    if (connections->settings_error < 0)
        write_settings(connections);
    write_from(connections, 0);
    r = program_check(connections->program, why);
    /* Being attached again is a reason only if there was none for the time without. */
    if (r == 0 || (r > 0 && connections->is_detached))
        connections->reason = NULL;
    else if (r > 0 || !connections->is_detached || strcmp(connections->reason, why->text) != 0)
        connections->reason = why->text;
    connections->is_detached = r < 0;
}

const char *connections_get_reason(const struct connections *connections)
{
    return connections->why_off ? connections->why_off : connections->reason;
}

bool connections_can_pace(const struct connections *connections)
{
    return !connections->is_detached && !connections->program->cannot_pace;
}

int connections_find(const struct connections *connections, const struct riptide_prefix *dst,
                     struct window *window)
{
    const struct window_key key = window_key_of(dst);

    if (!connections || bpf_get_element(connections->windows_fd, &key, window) < 0 ||
        (window->is_ipv6_alone && dst->family == AF_INET))
        return RIPTIDE_E_UNKNOWN;
    return 0;
}

const char *connections_get_cgroup(const struct connections *connections)
{
    return connections->program->cgroup;
}

struct window_counts connections_count(const struct connections *connections)
{
    struct window_counts counts = { 0 };

    if (connections && connections->windows_fd >= 0)
        bpf_get_element(connections->program->maps[MAP_COUNTS], &connections->netns_cookie,
                        &counts);
    return counts;
}
