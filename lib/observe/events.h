/* SPDX-License-Identifier: MIT */
/*
 * Destroy events: the kernel's messages about closed TCP sockets, with their last tcp_info, from
 * multicast groups of sock_diag. The observer interprets them. Some may be lost; that is counted.
 */
#ifndef RIPTIDE_LIB_OBSERVE_EVENTS_H
#define RIPTIDE_LIB_OBSERVE_EVENTS_H

#include "netlink.h"

#include <riptide/observe.h>

/* An event is a datagram of 380 bytes on Linux 6.18; a batch is as large as a dump's buffer. */
enum { EVENTS_BATCH = 32, EVENT_MAX_BYTES = 1024 };

struct events {
    struct riptide_observer_stats *stats; /* not owned */
    int epoll_fd;                         /* not owned: its epoll waits on this socket */
    struct mnl_socket *socket;
    uint32_t in_a_row;       /* successive intervals with an overrun, up to the last one */
    uint32_t wait_intervals; /* until the next subscription; 0: subscribed */
    bool is_listening;
    bool has_overrun;   /* in the present interval */
    bool is_lossy;      /* the queue has overrun and has not been empty since */
    uint32_t n;         /* messages in the buffer */
    uint32_t next;      /* the next of them to pop */
    uint32_t n_dropped; /* the kernel's drop counter for this socket; it wraps */
    /* Each begins with a message of valid length. */
    _Alignas(struct nlmsghdr) unsigned char buffer[EVENTS_BATCH][EVENT_MAX_BYTES];
};

/* In the thread's network namespace. The caller sets `stats`, and all others to zero. */
int events_open(struct events *events, int epoll_fd);

/* Also if events_open failed, or has not been called. */
void events_close(struct events *events);

/*
 * Whether the fd is readable for events. Turned off during a dump: events of that time wait in the
 * kernel and belong to the next interval. Turning it on ends an interval: here the subscription
 * begins, is given up and is tried again. If the kernel refuses it, the counters say so.
 */
void events_set_listening(struct events *events, bool is_listening);

/* Whether all events from before listening began have been read and popped. */
bool events_is_caught_up(const struct events *events);

/*
 * Reads at most one batch, unless messages of the last one remain. Outcomes: RIPTIDE_E_AGAIN, none
 * was there. No errors: after an overrun events are lost, any other one ends the subscription.
 */
int events_dispatch(struct events *events);

/* Whether read messages wait to be popped, and the next of them. */
static inline bool events_has_unread(const struct events *events)
{
    return events->next < events->n;
}

static inline const struct nlmsghdr *events_pop(struct events *events)
{
    return (const void *)events->buffer[events->next++];
}

/* Takes a datagram of `len` bytes in the buffer, after the n messages; 0: not from the kernel. */
void events_take(struct events *events, size_t len);

#endif
