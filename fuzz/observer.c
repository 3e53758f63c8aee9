/* SPDX-License-Identifier: MIT */
/*
 * Any datagrams of the kernel, in any order, to an observer that dumps and listens: it never gets
 * stuck, counts every message, hands out no connection twice and none outside the scope that the
 * kernel did not filter, and leaves nothing unread without reporting it.
 */
#include "closing.h"
#include "kernel.h"
#include "observe/events.h"
#include "prefix.h"
#include "target.h"

#include "case_bytes.h"
#include "tools.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

struct run {
    struct riptide_observer *observer;
    struct riptide_observer_config config;
    struct riptide_observer_stats stats; /* as last seen */
    uint64_t n_samples, n_done, n_restarted;
    bool is_dumping;
    uint64_t last_cookie;
};

static const int errors[] = { ENODEV, EINTR, ENOBUFS, ENOMEM, EPERM, EBADF };

/* sockets = samples + all left_out_* + malformed, always. */
static void check_stats(struct run *run)
{
    struct riptide_observer_stats *stats = &run->stats;

    riptide_observer_get_stats(run->observer, stats, sizeof(*stats));
    CASE_CHECK(stats->sockets == stats->samples + stats->left_out_local +
                                     stats->left_out_multicast + stats->left_out_link_local +
                                     stats->left_out_scope + stats->left_out_no_info +
                                     stats->left_out_seen + stats->left_out_unused +
                                     stats->malformed);
    CASE_CHECK(stats->samples == run->n_samples && stats->closed == kernel_n_closed());
    CASE_CHECK(run->n_done <= stats->dumps && run->n_restarted <= stats->restarts);
    CASE_CHECK(stats->events_error <= 0);
}

static void check_sample(struct run *run, const struct riptide_sample *sample)
{
    struct riptide_observer_stats stats;

    riptide_observer_get_stats(run->observer, &stats, sizeof(stats));
    CASE_CHECK(prefix_is_valid(&sample->dst) && sample->cwnd > 0);
    CASE_CHECK(sample->dst.len == prefix_family_bits(sample->dst.family));
    /* Samples that the kernel has filtered are not filtered again. */
    CASE_CHECK(
        (!sample->closed && stats.filter != RIPTIDE_FILTER_PARTIAL) ||
        riptide_scope_matches(&run->config.scope, sample));
    CASE_CHECK(!sample->closed || (run->config.destroy_events && sample->data_segs_out > 0));
    /* In any case no connection comes twice in a row. */
    CASE_CHECK(sample->closed || sample->cookie != run->last_cookie || sample->cookie == 0);
    run->last_cookie = sample->closed ? 0 : sample->cookie;
}

static void pop_all(struct run *run)
{
    const struct riptide_sample *sample;
    int r;

    while ((r = riptide_observer_pop(run->observer, &sample)) != RIPTIDE_E_AGAIN) {
        if (r == 0) {
            check_sample(run, sample);
            run->n_samples++;
        } else if (r == RIPTIDE_E_DONE) {
            CASE_CHECK(run->is_dumping);
            run->is_dumping = false;
            run->n_done++;
        } else {
            CASE_CHECK(r == RIPTIDE_E_RESTARTED);
            run->n_restarted++;
            run->last_cookie = 0;
        }
    }
    check_stats(run);
}

static void start(struct run *run)
{
    int r = riptide_observer_start(run->observer);

    CASE_CHECK(r <= 0);
    if (r == 0 && !run->is_dumping)
        run->last_cookie = 0;
    /* -EBUSY: the dump continues; any other error has ended it. */
    run->is_dumping = r == 0 || r == -EBUSY;
    check_stats(run);
}

static void dispatch(struct run *run)
{
    int r = riptide_observer_dispatch(run->observer);

    CASE_CHECK(r <= 0 || r == RIPTIDE_E_MORE);
    CASE_CHECK(r != 0 || !kernel_is_readable());
    if (r < 0)
        run->is_dumping = false;
}

static void say(struct case_bytes *bytes, enum kernel_socket index, uint32_t port)
{
    size_t n;
    uint8_t *datagram = case_copy(bytes, case_u16(bytes), &n);

    kernel_say(index, port, datagram, n);
    free(datagram);
}

static void step(struct run *run, struct case_bytes *bytes)
{
    uint8_t what = case_u8(bytes);
    enum kernel_socket index = (what >> 4) % KERNEL_N_SOCKETS;

    switch (what % 8) {
    case 0:
        start(run);
        break;
    case 1:
    case 2:
        say(bytes, index, 0);
        break;
    case 3:
        say(bytes, index, case_u8(bytes));
        break;
    case 4:
        kernel_fail(index, errors[case_u8(bytes) % (sizeof(errors) / sizeof(errors[0]))]);
        break;
    default: /* reads and pops all, in a bounded number of steps */
        for (int i = 0; i < 8; i++) {
            dispatch(run);
            pop_all(run);
        }
    }
}

/* Whether a dump ends if the kernel only sends NLMSG_DONE from now on. */
static bool recovers(struct run *run)
{
    static const struct {
        uint32_t len;
        uint16_t type, flags;
        uint32_t seq, port;
        int32_t error;
    } done = { .len = 20, .type = 3 };

    for (int i = 0; i < 500; i++) {
        if (!run->is_dumping)
            start(run);
        if (kernel_is_silent(KERNEL_ROUTES))
            kernel_say(KERNEL_ROUTES, 0, (const uint8_t *)&done, sizeof(done));
        if (kernel_is_silent(KERNEL_SOCKETS))
            kernel_say(KERNEL_SOCKETS, 0, (const uint8_t *)&done, sizeof(done));
        dispatch(run);
        pop_all(run);
        if (!run->is_dumping)
            return true;
    }
    return false;
}

/* After a dump the observer reads all messages about closed sockets. */
static void hear_all(struct run *run)
{
    struct riptide_observer_stats stats;

    for (int i = 0; i < 100 && !kernel_is_silent(KERNEL_EVENTS); i++) {
        dispatch(run);
        pop_all(run);
    }
    riptide_observer_get_stats(run->observer, &stats, sizeof(stats));
    CASE_CHECK(kernel_is_silent(KERNEL_EVENTS) || stats.events_error < 0);
}

/* More than fit into a filter with all of their bits. */
enum { MANY_PREFIXES = 2500 };

/* The arrays of a scope, with more ranges than allowed. */
static struct {
    struct riptide_prefix prefixes[2];
    struct riptide_prefix many[MANY_PREFIXES];
    struct riptide_port_range ranges[RIPTIDE_SCOPE_MAX_PORT_RANGES + 1];
} drawn;

static void draw_many(struct riptide_scope *scope)
{
    for (uint16_t i = 0; i < MANY_PREFIXES; i++)
        drawn.many[i] = (struct riptide_prefix){
            AF_INET, 32, { 10, (uint8_t)(i * 37 >> 8), (uint8_t)(i * 37), 1 }
        };
    scope->learn = drawn.many;
    scope->n_learn = MANY_PREFIXES;
}

static void draw_scope(struct riptide_scope *scope, struct case_bytes *bytes)
{
    uint8_t how = case_u8(bytes);

    memset(&drawn, 0, sizeof(drawn));
    for (size_t i = 0; i < 2; i++) {
        drawn.prefixes[i].family = how & 1 ? AF_INET6 : AF_INET;
        drawn.prefixes[i].len = case_u8(bytes);
        for (int k = 0; k < (how & 1 ? 16 : 4); k++)
            drawn.prefixes[i].addr[k] = case_u8(bytes);
    }
    drawn.ranges[0].first = case_u16(bytes);
    drawn.ranges[0].last = case_u16(bytes);
    scope->learn = how & 2 ? NULL : drawn.prefixes;
    scope->n_learn = 1;
    scope->exclude = drawn.prefixes + 1;
    scope->n_exclude = how & 4 ? 1 : 0;
    scope->local_ports = how & 8 ? drawn.ranges : NULL;
    scope->n_local_ports = how & 8 ? 1 : 0;
    scope->remote_ports = how & 16 ? drawn.ranges : NULL;
    scope->n_remote_ports = how & 16 ? 1u + (how & 32 ? RIPTIDE_SCOPE_MAX_PORT_RANGES : 0) : 0;
    if (how & 128)
        draw_many(scope);
}

static void draw_config(struct run *run, uint8_t how, struct case_bytes *bytes)
{
    riptide_observer_config_init(&run->config, sizeof(run->config));
    run->config.destroy_events = how & 1;
    run->config.congestion_control = how & 2;
    if (how & 4)
        draw_scope(&run->config.scope, bytes);
    if (how & 32)
        run->config.max_restarts = case_u8(bytes) % 4;
    if (how & 64)
        run->config.events_buffer_bytes = case_u16(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct case_bytes bytes = { data, n };
    struct run run = { .observer = NULL };
    struct riptide_error error;
    uint8_t how = case_u8(&bytes), fail_at;
    int r;

    if (how & 128) {
        closing_run(&bytes);
        kernel_reset(0, 0);
        return 0;
    }
    draw_config(&run, how, &bytes);
    fail_at = case_u8(&bytes);
    kernel_reset(fail_at, errors[case_u8(&bytes) % 4 + 2]);
    r = riptide_observer_new(&run.observer, &run.config, &error);
    CASE_CHECK(r == 0 || (r < 0 && error.text[0] && !strchr(error.text, '\n')));
    if (r == 0) {
        while (bytes.left > 0)
            step(&run, &bytes);
        CASE_CHECK(recovers(&run));
        if (run.config.destroy_events && run.stats.dumps > 0)
            hear_all(&run);
        riptide_observer_free(run.observer);
    }
    kernel_reset(0, 0);
    return 0;
}
