/* SPDX-License-Identifier: MIT */
/*
 * The observer: configuration in, samples out, all counted. dump.c does the dumps, events.c the
 * destroy events, sample.c parses a message about a socket.
 */
#include "internal.h"
#include "observe/config.h"
#include "observe/dump.h"
#include "observe/events.h"
#include "observe/sample.h"
#include "observe/seen.h"

#include <errno.h>
#include <riptide/observe.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct riptide_observer {
    pid_t pid;                             /* the process that made it */
    struct riptide_observer_config config; /* its scope is a copy that the observer owns */
    struct filter filter;
    struct riptide_observer_stats stats;
    struct riptide_sample samples[RIPTIDE_POPPED_SAMPLES]; /* the last popped ones, in a ring */
    unsigned int next;                                     /* index of the next one */
    struct seen seen;
    bool is_settled;       /* `seen`, since the last dump began */
    struct events *events; /* NULL: not configured */
    struct dump dump;
};

static void observer_freep(struct riptide_observer **observerp)
{
    riptide_observer_free(*observerp);
}

static int open_events(struct riptide_observer *observer, struct riptide_error *error)
{
    int r;

    observer->events = calloc(1, sizeof(*observer->events));
    if (!observer->events)
        return -ENOMEM;
    observer->events->stats = &observer->stats;
    observer->events->epoll_fd = observer->dump.epoll_fd;
    r = events_open(observer->events, (uint32_t)observer->config.events_buffer_bytes);
    if (r < 0)
        error_set(error, "sock_diag socket for events: %s", strerror(-r));
    return r;
}

static int open_sockets(struct riptide_observer *observer, struct riptide_error *error)
{
    int r = dump_open(&observer->dump, error);

    if (r == 0 && observer->config.destroy_events >= RIPTIDE_DESTROY_EVENTS_YES)
        r = open_events(observer, error);
    return r;
}

static int observer_new(struct riptide_observer **observerp,
                        const struct riptide_observer_config *given, struct riptide_error *error)
{
    CLEANUP(observer_freep) struct riptide_observer *observer = NULL;
    struct riptide_observer_config config;
    int r = observer_config_check(&config, given, error);

    if (r < 0)
        return r;
    observer = calloc(1, sizeof(*observer));
    if (!observer)
        return -ENOMEM;
    observer->pid = getpid();
    observer->config = config;
    observer->dump.epoll_fd = -1;
    observer->dump.stats = &observer->stats;
    observer->dump.filter = &observer->filter;
    r = scope_copy(&observer->config.scope, &config.scope);
    if (r == 0)
        r = filter_init(&observer->filter, &observer->config.scope);
    if (r < 0)
        return r;
    if (prefix_set_is_empty(&observer->filter.prefixes))
        return error_set_field(error, "observer.scope.exclude",
                               "exclude covers all of scope: nothing matches");
    r = open_sockets(observer, error);
    if (r < 0)
        return r;

    *observerp = observer;
    observer = NULL;
    return 0;
}

RIPTIDE_PUBLIC int riptide_observer_new(struct riptide_observer **observerp,
                                        const struct riptide_observer_config *config,
                                        struct riptide_error *error)
{
    error_set(error, "%s", "");
    return error_fill(error, observer_new(observerp, config, error));
}

RIPTIDE_PUBLIC struct riptide_observer *riptide_observer_free(struct riptide_observer *observer)
{
    if (!observer)
        return NULL;
    if (observer->events)
        events_close(observer->events);
    free(observer->events);
    dump_close(&observer->dump);
    filter_deinit(&observer->filter);
    scope_deinit(&observer->config.scope);
    free(observer);
    return NULL;
}

const struct riptide_scope *observer_scope(const struct riptide_observer *observer)
{
    return &observer->config.scope;
}

RIPTIDE_PUBLIC int riptide_observer_get_fd(const struct riptide_observer *observer)
{
    return observer->dump.epoll_fd;
}

/* What closed during a dump is read after it, and has to be told from what the dump has shown. */
static void settle_if_caught_up(struct riptide_observer *observer)
{
    if (!observer->is_settled && events_is_caught_up(observer->events)) {
        seen_settle(&observer->seen);
        observer->is_settled = true;
    }
}

/* Listens again, but not before a dump has found the host's own addresses. */
static void end_dump(struct riptide_observer *observer)
{
    if (!observer->events || observer->stats.dumps == 0)
        return;
    events_set_listening(observer->events, true);
    settle_if_caught_up(observer);
}

RIPTIDE_PUBLIC int riptide_observer_start(struct riptide_observer *observer)
{
    int r;

    if (is_forked(observer->pid, NULL))
        return -ECHILD;
    if (dump_is_idle(&observer->dump)) {
        seen_settle(&observer->seen);
        observer->is_settled = false;
        if (observer->events)
            events_set_listening(observer->events, false);
    }
    r = dump_start(&observer->dump);
    if (dump_is_idle(&observer->dump))
        end_dump(observer);
    return r;
}

RIPTIDE_PUBLIC int riptide_observer_dispatch(struct riptide_observer *observer)
{
    int r = RIPTIDE_E_AGAIN;

    if (is_forked(observer->pid, NULL))
        return -ECHILD;
    if (observer->events && dump_is_idle(&observer->dump)) {
        settle_if_caught_up(observer);
        r = events_dispatch(observer->events);
    }
    if (r == RIPTIDE_E_AGAIN)
        r = dump_dispatch(&observer->dump);
    if (r < 0)
        end_dump(observer);
    if (r == RIPTIDE_E_AGAIN)
        return 0;
    return r < 0 ? r : RIPTIDE_E_MORE;
}

/* Cheap reasons first. */
static bool is_left_out(const struct riptide_observer *observer,
                        const struct riptide_sample *sample)
{
    /* Closed without sending data, or never established. */
    if (sample->closed && sample->data_segs_out == 0)
        return true;
    if (prefix_set_decide(&observer->dump.local, &sample->dst))
        return true;
    /* The kernel applies no filter to destroy events. */
    return (sample->closed || observer->filter.is_partial) &&
           !filter_matches(&observer->filter, sample);
}

/* Whether the message is a sample to hand out; then it is the next one of observer->samples. */
static bool take_sample(struct riptide_observer *observer, const struct nlmsghdr *message,
                        bool is_closed)
{
    struct riptide_observer_stats *stats = &observer->stats;
    struct riptide_sample *sample = &observer->samples[observer->next];
    enum sample_verdict verdict =
        sample_parse(sample, NLMSG_DATA(message), NLMSG_PAYLOAD(message, 0));

    stats->closed += is_closed;
    if (verdict == SAMPLE_MALFORMED) {
        stats->malformed++;
        return false;
    }
    if (verdict == SAMPLE_OK) {
        sample->closed = is_closed;
        sample->shown = seen_contains(&observer->seen, sample->cookie);
        if (!is_closed)
            seen_add(&observer->seen, sample->cookie);
    }
    if (verdict != SAMPLE_OK || is_left_out(observer, sample)) {
        stats->left_out++;
        return false;
    }
    stats->samples++;
    return true;
}

static int pop_open(struct riptide_observer *observer)
{
    const struct nlmsghdr *message;
    int r;

    do
        r = dump_pop(&observer->dump, &message);
    while (message && !take_sample(observer, message, false));
    return r;
}

static int pop_closed(struct riptide_observer *observer)
{
    while (events_has_unread(observer->events)) {
        if (take_sample(observer, events_pop(observer->events), true))
            return 0;
    }
    return RIPTIDE_E_AGAIN;
}

RIPTIDE_PUBLIC int riptide_observer_pop(struct riptide_observer *observer,
                                        const struct riptide_sample **samplep)
{
    int r = pop_open(observer);

    /* Not for each sample: getpid(2) would add 5 to 20 % to its cost. */
    if (r != 0 && is_forked(observer->pid, NULL))
        return -ECHILD;
    if (r == RIPTIDE_E_DONE)
        end_dump(observer);
    else if (r == RIPTIDE_E_AGAIN && observer->events)
        r = pop_closed(observer);
    if (r != 0)
        return r;
    *samplep = &observer->samples[observer->next];
    observer->next = (observer->next + 1) % RIPTIDE_POPPED_SAMPLES;
    return 0;
}

STRUCT_ENDS_WITH(struct riptide_observer_stats, events_error);

RIPTIDE_PUBLIC void riptide_observer_get_stats(const struct riptide_observer *observer,
                                               struct riptide_observer_stats *stats, size_t size)
{
    struct riptide_observer_stats current = observer->stats;

    current.events_error = observer->events ? observer->events->error : 0;
    struct_give(stats, size, &current, sizeof(current));
}
