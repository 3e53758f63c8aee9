/* SPDX-License-Identifier: MIT */
/*
 * The kernel's word that a TCP socket is gone, with all that it knew: the sock_diag multicast
 * groups SKNLGRP_INET_TCP_DESTROY and SKNLGRP_INET6_TCP_DESTROY. Hands out messages, whose meaning
 * is the observer's. Losing some is allowed and counted.
 */
#ifndef RIPTIDE_LIB_OBSERVE_EVENTS_H
#define RIPTIDE_LIB_OBSERVE_EVENTS_H

#include "netlink.h"

#include <riptide/observe.h>

/* Each event is a datagram of 380 bytes on Linux 6.18; together as much as of a dump. */
enum { EVENTS_BATCH = 32, EVENT_MAX_BYTES = 1024 };

struct events {
    struct riptide_observer_stats *stats; /* not ours */
    int epoll_fd;                         /* not ours: whether we are read is said there */
    struct mnl_socket *socket;
    uint32_t in_a_row; /* intervals with an overrun, up to the last one */
    uint32_t pause;    /* how many intervals pass without a subscription; 0: there is one */
    bool is_listening;
    bool is_drained;    /* the queue was empty once since listening began */
    bool has_overrun;   /* in this interval */
    bool is_lossy;      /* the queue has overrun and was not empty since */
    int error;          /* why there is no subscription; 0: there is one */
    uint32_t n;         /* messages in the buffer */
    uint32_t next;      /* of them, to be popped */
    uint32_t n_dropped; /* by the kernel's count for this socket; it wraps */
    /* Each begins with a message whose length is true. */
    _Alignas(struct nlmsghdr) unsigned char buffer[EVENTS_BATCH][EVENT_MAX_BYTES];
};

/*
 * Opens in the thread's network namespace and subscribes; not listening yet. Where the kernel
 * refuses the subscription `error` says so. The first two members are set by the caller.
 * Errors: those of socket(2).
 */
int events_open(struct events *events, uint32_t buffer_bytes);

/* Also for one whose events_open failed. */
void events_close(struct events *events);

/*
 * Whether the fd is readable for events. Not while a dump is under way: what closes meanwhile waits
 * in the kernel, so that it belongs to the next interval. Listening anew is the end of an interval:
 * here subscriptions are given up and tried again.
 */
void events_set_listening(struct events *events, bool is_listening);

/* Whether all that had closed by the time that listening began was read and popped. */
bool events_is_caught_up(const struct events *events);

/*
 * Reads at most one batch, unless there is something left of the last one.
 * Outcomes: RIPTIDE_E_AGAIN, there was nothing. There are no errors: an overrun is counted, and
 * what else goes wrong ends the subscription for a while.
 */
int events_dispatch(struct events *events);

/* Whether something that was read is still to be popped, and the next of it. */
static inline bool events_has_unread(const struct events *events)
{
    return events->next < events->n;
}

static inline const struct nlmsghdr *events_pop(struct events *events)
{
    return (const void *)events->buffer[events->next++];
}

/* Takes over what lies behind the messages: so many bytes, 0 where it is not the kernel's. */
void events_take(struct events *events, size_t len);

#endif
