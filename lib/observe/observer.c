/* SPDX-License-Identifier: MIT */
/*
 * The observer: configuration in, samples out, all counted. dump.c does the dumps, events.c the
 * destroy events, sample.c parses a message about a socket.
 */
#include "observe/observer.h"
#include "internal.h"
#include "observe/dump.h"
#include "observe/events.h"
#include "observe/sample.h"
#include "observe/seen.h"
#include "prefix.h"

#include <errno.h>
#include <riptide/observe.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

struct riptide_observer {
    pid_t pid; /* the process that made it */
    int epoll_fd;
    struct filter filter;
    struct riptide_observer_stats stats;
    /* In a ring: the last popped ones, and the next, which is parsed to see whether it is one. */
    struct riptide_sample samples[RIPTIDE_POPPED_SAMPLES + 1];
    unsigned int next; /* index of the next one */
    struct seen seen;
    bool is_settled;      /* `seen`, since the last dump began */
    struct events events; /* with a socket where they are configured */
    struct dump dump;
};

static void observer_freep(struct riptide_observer **observerp)
{
    riptide_observer_free(*observerp);
}

static int open_sockets(struct riptide_observer *observer, bool has_events)
{
    struct epoll_event event = { .events = EPOLLIN };
    int r = dump_open(&observer->dump);

    if (r < 0)
        return r;
    observer->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (observer->epoll_fd < 0 || epoll_ctl(observer->epoll_fd, EPOLL_CTL_ADD,
                                            mnl_socket_get_fd(observer->dump.sockets), &event) < 0)
        return -errno;
    if (has_events)
        r = events_open(&observer->events, observer->epoll_fd);
    return r;
}

RIPTIDE_PUBLIC int riptide_observer_new(struct riptide_observer **observerp,
                                        const struct riptide_observer_config *given,
                                        struct riptide_error *error)
{
    CLEANUP(observer_freep) struct riptide_observer *observer = NULL;
    struct riptide_observer_config config;
    int r;

    error_set(error, "%s", "");
    r = observer_config_take(&config, given, error);
    if (r < 0)
        return r;
    observer = calloc(1, sizeof(*observer));
    if (!observer)
        return error_fill(error, -ENOMEM);
    observer->pid = getpid();
    observer->epoll_fd = -1;
    observer->dump.stats = observer->events.stats = &observer->stats;
    observer->dump.filter = &observer->filter;
    r = filter_init(&observer->filter, &config.scope);
    if (r < 0)
        return error_fill(error, r);
    if (prefix_set_is_empty(&observer->filter.prefixes))
        return error_set_field(error, "observer.scope.exclude",
                               "exclude covers all of scope: nothing matches");
    r = open_sockets(observer, config.destroy_events == RIPTIDE_DESTROY_EVENTS_YES);
    if (r < 0) {
        error_set(error, "sockets of the observer: %s", strerror(-r));
        return r;
    }

    *observerp = observer;
    observer = NULL;
    return 0;
}

RIPTIDE_PUBLIC struct riptide_observer *riptide_observer_free(struct riptide_observer *observer)
{
    if (!observer)
        return NULL;
    events_close(&observer->events);
    dump_close(&observer->dump);
    closep(&observer->epoll_fd);
    filter_deinit(&observer->filter);
    free(observer);
    return NULL;
}

RIPTIDE_PUBLIC bool riptide_observer_matches(const struct riptide_observer *observer,
                                             const struct riptide_sample *sample)
{
    return filter_matches(&observer->filter, sample) &&
           !address_is_local(sample->dst.family, sample->dst.addr);
}

RIPTIDE_PUBLIC enum riptide_reason riptide_observer_explain(const struct riptide_observer *observer,
                                                            const struct riptide_prefix *dst)
{
    static const struct riptide_prefix this_host[] = {
        { AF_INET, 8, { 0 } },
        { AF_INET, 8, { 127 } },
        { AF_INET6, 127, { 0 } },
    };
    const struct filter *filter = &observer->filter;
    bool is_local = prefix_set_decide(&observer->dump.local, dst);

    for (size_t i = 0; i < sizeof(this_host) / sizeof(this_host[0]); i++)
        is_local |= prefix_contains(&this_host[i], dst);
    if (is_local)
        return RIPTIDE_REASON_LOCAL;
    /* A prefix that is wider also has addresses of others. */
    if (dst->len >= 8 && address_is_local(dst->family, dst->addr))
        return RIPTIDE_REASON_LINK_LOCAL;
    /* Where no prefix decides, it is outside of all that the scope has. */
    if (!prefix_set_decide(&filter->prefixes, dst))
        return prefix_set_is_around(&filter->prefixes, dst) ? RIPTIDE_REASON_EXCLUDED
                                                            : RIPTIDE_REASON_OUT_OF_SCOPE;
    return filter->local.n + filter->remote.n > 0 ? RIPTIDE_REASON_PORT : RIPTIDE_REASON_NONE;
}

RIPTIDE_PUBLIC int riptide_observer_get_fd(const struct riptide_observer *observer)
{
    return observer->epoll_fd;
}

/* What closed during a dump is read after it, and has to be told from what the dump has shown. */
static void settle_if_caught_up(struct riptide_observer *observer)
{
    if (!observer->is_settled && events_is_caught_up(&observer->events)) {
        seen_settle(&observer->seen);
        observer->is_settled = true;
    }
}

/* Listens again, but not before a dump has found the host's own addresses. */
static void end_dump(struct riptide_observer *observer)
{
    if (!observer->events.socket || observer->stats.dumps == 0)
        return;
    events_set_listening(&observer->events, true);
    settle_if_caught_up(observer);
}

/* Of a new socket; 0: the kernel does not say (before Linux 4.12). */
static uint64_t fresh_cookie(void)
{
    CLEANUP(closep) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    uint64_t cookie = 0;
    socklen_t len = sizeof(cookie);

    if (fd >= 0)
        getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &len);
    return cookie;
}

RIPTIDE_PUBLIC int riptide_observer_start(struct riptide_observer *observer)
{
    int r;

    if (is_forked(observer->pid, NULL))
        return -ECHILD;
    if (observer->dump.phase == DUMP_IDLE) {
        seen_check(&observer->seen, fresh_cookie());
        seen_settle(&observer->seen);
        observer->is_settled = false;
        events_set_listening(&observer->events, false);
    }
    r = dump_start(&observer->dump);
    if (observer->dump.phase == DUMP_IDLE)
        end_dump(observer);
    return r;
}

RIPTIDE_PUBLIC int riptide_observer_dispatch(struct riptide_observer *observer)
{
    int r = RIPTIDE_E_AGAIN;

    if (is_forked(observer->pid, NULL))
        return -ECHILD;
    if (observer->events.socket && observer->dump.phase == DUMP_IDLE) {
        settle_if_caught_up(observer);
        r = events_dispatch(&observer->events);
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
    bool is_sample = sample_parse(sample, NLMSG_DATA(message), NLMSG_PAYLOAD(message, 0));

    stats->closed += is_closed;
    if (is_sample) {
        sample->closed = is_closed;
        sample->shown = seen_contains(&observer->seen, sample->cookie);
        if (!is_closed)
            seen_add(&observer->seen, sample->cookie);
    }
    if (!is_sample || is_left_out(observer, sample)) {
        stats->left_out++;
        return false;
    }
    return true;
}

RIPTIDE_PUBLIC int riptide_observer_pop(struct riptide_observer *observer,
                                        const struct riptide_sample **samplep)
{
    const struct nlmsghdr *message;
    int r;

    do
        r = dump_pop(&observer->dump, &message);
    while (message && !take_sample(observer, message, false));
    /* Not for each sample: getpid(2) would add 5 to 20 % to its cost. */
    if (r != 0 && is_forked(observer->pid, NULL))
        return -ECHILD;
    if (r == RIPTIDE_E_DONE)
        end_dump(observer);
    while (r == RIPTIDE_E_AGAIN && events_has_unread(&observer->events)) {
        if (take_sample(observer, events_pop(&observer->events), true))
            r = 0;
    }
    if (r != 0)
        return r;
    *samplep = &observer->samples[observer->next];
    observer->next = (observer->next + 1) % (RIPTIDE_POPPED_SAMPLES + 1);
    return 0;
}

STRUCT_ENDS_WITH(struct riptide_observer_stats, events_error);

RIPTIDE_PUBLIC void riptide_observer_get_stats(const struct riptide_observer *observer,
                                               struct riptide_observer_stats *stats, size_t size)
{
    struct_give(stats, size, &observer->stats, sizeof(observer->stats));
}
