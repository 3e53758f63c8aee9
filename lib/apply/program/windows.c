/* SPDX-License-Identifier: MIT */
/*
 * Windows in the map of the program (program.c). Only the kernel remembers those that it has; the
 * others wait here.
 */
#include "apply/program/windows.h"

#include "apply/program/program.h"
#include "internal.h"
#include "prefix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Debian 11's headers do not have it. */
#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

/* Windows of one call of bpf(2): one each takes nearly twice the processor time. */
enum { MAX_WRITTEN = 64 };

/* Outcomes that nobody pops. */
enum { MAX_OUTCOMES = 512 };

struct outcome {
    struct riptide_prefix dst;
    uint32_t initcwnd;
    int error;
};

struct waiting {
    struct riptide_wanted wanted;
    int error; /* as last noted; 0: not yet tried */
};

struct windows {
    pid_t pid; /* of the process that made it */
    struct windows_config config;
    struct program program;
    uint64_t netns_cookie;
    const char *why_paused; /* as wanted; NULL: windows are wanted */
    const char *why_off;    /* as the kernel has it */
    struct riptide_error whys[2]; /* in turn: another reason has another address */
    const char *reason;           /* one of them; NULL: there is none */
    bool is_detached;             /* as last found */
    /* [0, n_refused): for after the next check; [n_tried, n_waiting): for the next dispatch. */
    struct waiting *waiting;
    uint32_t n_refused, n_tried, n_waiting, capacity;
    struct outcome outcomes[MAX_OUTCOMES]; /* a ring */
    uint32_t n_noted, n_popped;
    struct riptide_route popped;
};

/* Of the thread's network namespace, unique until reboot. */
static int read_netns_cookie(uint64_t *cookiep, struct riptide_error *error)
{
    socklen_t n_bytes = sizeof(*cookiep);
    CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, cookiep, &n_bytes) == 0)
        return 0;
    if (errno != ENOPROTOOPT)
        return -errno;
    error_set(error, "the program needs Linux 5.15");
    return -EOPNOTSUPP;
}

int windows_new(struct windows **windowsp, const struct windows_config *config,
                struct riptide_error *error)
{
    struct windows *windows = calloc(1, sizeof(*windows));
    int r;

    error_set(error, "%s", "");
    if (!windows)
        return error_fill(error, -ENOMEM);
    windows->pid = getpid();
    windows->config = *config;
    r = program_init(&windows->program, config->cgroup, error);
    if (r == 0)
        r = read_netns_cookie(&windows->netns_cookie, error);
    if (r == 0)
        *windowsp = windows;
    else
        windows_free(windows);
    return error_fill(error, r);
}

struct windows *windows_free(struct windows *windows)
{
    if (!windows)
        return NULL;
    if (!is_forked(windows->pid, NULL))
        windows_stop(windows);
    program_deinit(&windows->program);
    free(windows->waiting);
    free(windows);
    return NULL;
}

static int write_settings(struct windows *windows)
{
    const uint32_t key = 0;
    const struct window_settings settings = {
        .netns_cookie = windows->netns_cookie,
        .is_paused = windows->why_paused != NULL,
        .pacing_rtt_min_us = PACING_RTT_MIN_US,
        .pacing_percent = windows->config.pacing ? TCP_PACING_PERCENT : 0,
        .holdout = ARM_SHARE(windows->config.arms.holdout_percent),
        .seed = windows->config.arms.seed,
    };
    int fd = windows->program.maps[MAP_SETTINGS], r = 0;

    if (fd >= 0)
        r = map_element(BPF_MAP_UPDATE_ELEM, fd, &key, &settings);
    if (r == 0)
        windows->why_off = windows->why_paused;
    return r;
}

int windows_start(struct windows *windows, struct riptide_error *error)
{
    int r;

    error_set(error, "%s", "");
    if (windows->config.dry_run)
        return 0;
    r = program_load(&windows->program, windows->config.max_windows, error);
    if (r == 0) {
        r = write_settings(windows);
        if (r < 0)
            error_set(error, "the program's settings: %s",
                      r == -EPERM ? "not permitted, it needs CAP_BPF" : strerror(-r));
    }
    if (r == 0)
        r = program_attach(&windows->program, error);
    if (r < 0)
        windows_stop(windows);
    return error_fill(error, r);
}

int windows_stop(struct windows *windows)
{
    return program_unload(&windows->program);
}

struct window_key window_key_of(const struct riptide_prefix *dst)
{
    struct window_key key = { .prefix_bits = 32u + dst->len, .family = dst->family };

    memcpy(key.address, dst->addr, sizeof(key.address));
    return key;
}

void windows_set_beside_routes(struct windows *windows, bool is_beside_routes)
{
    windows->config.is_beside_routes = is_beside_routes;
}

struct window window_of(const struct windows_config *config, const struct riptide_wanted *wanted)
{
    uint32_t max = wanted->cwnd_max;
    struct window window = {
        .initcwnd = max > 0 && wanted->initcwnd > max ? max : wanted->initcwnd,
        .may_lower = wanted->may_lower,
        .rto_min_us = wanted->rto_min_us,
        .receive_bytes = wanted->receive_bytes,
        .pacing_percent = wanted->pacing_percent,
        .rtt_us = wanted->rtt_us,
    };

    if (config->is_beside_routes) {
        window.route_step = window_step(window.initcwnd);
        window.base_cwnd = wanted->base_cwnd > 0 ? wanted->base_cwnd : KERNEL_CWND;
    }
    return window;
}

int windows_set(struct windows *windows, const struct riptide_wanted *wanted)
{
    const struct waiting added = { .wanted = *wanted };

    return array_append(&windows->waiting, &windows->n_waiting, &windows->capacity, &added,
                        sizeof(added));
}

/* Gives the first of `n` to the kernel, and returns how many have the result *rp. */
static uint32_t write_some(const struct windows *windows, const struct waiting *waiting, uint32_t n,
                           int *rp)
{
    struct window_key keys[MAX_WRITTEN];
    struct window values[MAX_WRITTEN];
    int fd = windows->program.maps[MAP_WINDOWS];
    uint32_t n_written = 0;

    *rp = 0;
    if (windows->config.dry_run)
        return n;
    for (; n_written < n && waiting[n_written].wanted.initcwnd > 0; n_written++) {
        keys[n_written] = window_key_of(&waiting[n_written].wanted.dst);
        values[n_written] = window_of(&windows->config, &waiting[n_written].wanted);
    }
    if (n_written == 0) {
        keys[0] = window_key_of(&waiting->wanted.dst);
        *rp = map_element(BPF_MAP_DELETE_ELEM, fd, &keys[0], NULL);
        return 1;
    }
    *rp = map_set_elements(fd, keys, values, &n_written);
    if (n_written == 0)
        return 1;
    *rp = 0;
    return n_written;
}

/* What the kernel has answered for a window. The newest of a destination takes the place of others. */
static void take_answer(struct windows *windows, struct waiting tried, int r)
{
    struct waiting *refused = windows->waiting;

    for (uint32_t i = 0; i < windows->n_refused; i++) {
        if (riptide_prefix_equal(&refused[i].wanted.dst, &tried.wanted.dst))
            refused[i--] = refused[--windows->n_refused];
    }
    /* It was to be removed, and does not exist. */
    if (r == -ENOENT)
        return;
    if (r == 0 || r != tried.error) {
        windows->outcomes[windows->n_noted++ % MAX_OUTCOMES] =
            (struct outcome){ tried.wanted.dst, tried.wanted.initcwnd, r };
        if (windows->n_noted - windows->n_popped > MAX_OUTCOMES)
            windows->n_popped++;
    }
    tried.error = r;
    if (r < 0)
        refused[windows->n_refused++] = tried;
}

int windows_dispatch(struct windows *windows)
{
    uint32_t left = windows->n_waiting - windows->n_tried, n;

    if (windows->program.program_fd < 0 && !windows->config.dry_run)
        return 0;
    for (left = left < MAX_WRITTEN ? left : MAX_WRITTEN; left > 0; left -= n) {
        const struct waiting *first = &windows->waiting[windows->n_tried];
        int r;

        n = write_some(windows, first, left, &r);
        windows->n_tried += n;
        for (uint32_t i = 0; i < n; i++)
            take_answer(windows, first[i], r);
    }
    if (windows->n_tried < windows->n_waiting)
        return RIPTIDE_E_MORE;
    windows->n_tried = windows->n_waiting = windows->n_refused;
    return 0;
}

int windows_pop(struct windows *windows, const struct riptide_route **routep)
{
    const struct outcome *outcome = &windows->outcomes[windows->n_popped % MAX_OUTCOMES];
    struct riptide_route *route = &windows->popped;

    if (windows->n_popped == windows->n_noted)
        return RIPTIDE_E_AGAIN;
    windows->n_popped++;
    *route = (struct riptide_route){
        .dst = outcome->dst,
        .state = outcome->initcwnd ? RIPTIDE_ROUTE_APPLIED : RIPTIDE_ROUTE_WITHDRAWN,
        .initcwnd = outcome->initcwnd,
        .error = outcome->error,
        .backend = RIPTIDE_PROGRAM,
    };
    if (outcome->error) {
        route->state = RIPTIDE_ROUTE_FAILED;
        strncpy(route->reason, "the program's map", sizeof(route->reason) - 1);
    }
    *routep = route;
    return 0;
}

int windows_set_paused(struct windows *windows, const char *why)
{
    windows->why_paused = why;
    return write_settings(windows);
}

void windows_check(struct windows *windows)
{
    struct riptide_error *why = &windows->whys[windows->reason == windows->whys[0].text];
    uint32_t n_new = windows->n_waiting - windows->n_tried;
    int r;

    if (windows->why_off != windows->why_paused)
        write_settings(windows);
    /* Refused windows are older than those that wait: puts them before these. */
    if (n_new > 0)
        memmove(&windows->waiting[windows->n_refused], &windows->waiting[windows->n_tried],
                n_new * sizeof(*windows->waiting));
    windows->n_waiting = windows->n_refused + n_new;
    windows->n_refused = windows->n_tried = 0;
    r = program_check(&windows->program, why);
    /* Being attached again is a reason only if there was none for the time without. */
    if (r == 0 || (r > 0 && windows->is_detached))
        windows->reason = NULL;
    else if (r > 0 || !windows->is_detached || strcmp(windows->reason, why->text) != 0)
        windows->reason = why->text;
    windows->is_detached = r < 0;
}

const char *windows_get_reason(const struct windows *windows)
{
    return windows->why_off ? windows->why_off : windows->reason;
}

bool windows_can_pace(const struct windows *windows)
{
    return !windows->is_detached && !windows->program.cannot_pace;
}

int windows_find(const struct windows *windows, const struct riptide_prefix *dst,
                 struct window *window)
{
    const struct window_key key = window_key_of(dst);

    if (!windows ||
        map_element(BPF_MAP_LOOKUP_ELEM, windows->program.maps[MAP_WINDOWS], &key, window) < 0)
        return RIPTIDE_E_UNKNOWN;
    return 0;
}

const char *windows_get_cgroup(const struct windows *windows)
{
    return windows->program.cgroup.path;
}

struct window_counts windows_count(const struct windows *windows)
{
    struct window_counts counts = { 0 };
    const uint32_t key = 0;

    map_element(BPF_MAP_LOOKUP_ELEM, windows->program.maps[MAP_COUNTS], &key, &counts);
    return counts;
}
