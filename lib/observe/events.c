/* SPDX-License-Identifier: MIT */
/* The subscription: opening, reading, giving up after overruns, trying again. See events.h. */
#include "observe/events.h"

#include <errno.h>
#include <linux/sock_diag.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* In intervals: one overrun is a burst, three in a row are the normal load of this host. */
enum { SUSTAINED = 3, WAIT_INTERVALS = 64 };

/* The queue: the kernel takes this much only while closed connections wait. */
enum { QUEUE_BYTES = 32 * 1024 * 1024 };

static const int groups[] = { SKNLGRP_INET_TCP_DESTROY, SKNLGRP_INET6_TCP_DESTROY };

static int set_membership(const struct events *events, int option)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < sizeof(groups) / sizeof(groups[0]); i++)
        r = netlink_set_option(events->socket, option, groups[i]);
    return r;
}

static void give_up(struct events *events, int error)
{
    set_membership(events, NETLINK_DROP_MEMBERSHIP);
    events->stats->events_error = error;
    events->wait_intervals = WAIT_INTERVALS;
    /* The next attempt ends with its first overrun. */
    events->in_a_row = SUSTAINED - 1;
}

int events_open(struct events *events, int epoll_fd)
{
    int r = netlink_open(&events->socket, NETLINK_SOCK_DIAG, QUEUE_BYTES);

    if (r < 0)
        return r;
    events->epoll_fd = epoll_fd;
    /* Subscribes when listening first begins, as nobody would read the queue until then. */
    events->wait_intervals = 1;
    return 0;
}

void events_close(struct events *events)
{
    netlink_close(events->socket);
}

static void end_interval(struct events *events)
{
    bool has_overrun = events->has_overrun;
    int r;

    events->has_overrun = false;
    if (events->wait_intervals > 0) {
        if (--events->wait_intervals > 0)
            return;
        r = set_membership(events, NETLINK_ADD_MEMBERSHIP);
        events->stats->events_error = 0;
        if (r < 0)
            give_up(events, r);
        return;
    }
    events->in_a_row = has_overrun ? events->in_a_row + 1 : 0;
    if (events->in_a_row == SUSTAINED)
        give_up(events, -ENOBUFS);
}

void events_set_listening(struct events *events, bool is_listening)
{
    struct epoll_event interest = { .events = EPOLLIN };
    int action = is_listening ? EPOLL_CTL_ADD : EPOLL_CTL_DEL;

    if (events->is_listening == is_listening)
        return;
    /* Not EPOLL_CTL_MOD: epoll reports an overrun (EPOLLERR) even without requested events. */
    if (epoll_ctl(events->epoll_fd, action, mnl_socket_get_fd(events->socket), &interest) < 0) {
        if (is_listening)
            give_up(events, -errno);
        return;
    }
    events->is_listening = is_listening;
    if (is_listening)
        end_interval(events);
}

bool events_is_caught_up(const struct events *events)
{
    return !events_has_unread(events) && netlink_is_empty(events->socket);
}

/*
 * The queue is empty. After an overrun the kernel has dropped all events until now and drops no
 * more. It counts them, from 4.12 on.
 */
static void on_drained(struct events *events)
{
    uint32_t words[SK_MEMINFO_VARS] = { 0 };
    socklen_t len = sizeof(words);

    if (!events->is_lossy)
        return;
    events->is_lossy = false;
    if (getsockopt(mnl_socket_get_fd(events->socket), SOL_SOCKET, SO_MEMINFO, words, &len) < 0)
        return;
    events->stats->closed_lost += words[SK_MEMINFO_DROPS] - events->n_dropped;
    events->n_dropped = words[SK_MEMINFO_DROPS];
}

void events_take(struct events *events, size_t len)
{
    struct netlink_walk datagram = { (void *)events->buffer[events->n], len };
    const struct nlmsghdr *message = netlink_next_message(&datagram);

    if (message && message->nlmsg_type == SOCK_DIAG_BY_FAMILY && datagram.left == 0) {
        events->n++;
        return;
    }
    events->stats->left_out++;
}

int events_dispatch(struct events *events)
{
    int r = 0;

    if (events_has_unread(events))
        return 0;
    if (!events->is_listening)
        return RIPTIDE_E_AGAIN;
    events->next = events->n = 0;
    for (int i = 0; i < EVENTS_BATCH; i++) {
        size_t len = 0;

        r = netlink_receive(events->socket, events->buffer[events->n], EVENT_MAX_BYTES, &len);
        if (r == RIPTIDE_E_AGAIN || (r < 0 && r != -EMSGSIZE))
            break;
        events_take(events, len);
    }
    if (r == RIPTIDE_E_AGAIN) {
        on_drained(events);
        return events->n > 0 ? 0 : r;
    }
    if (r == -ENOBUFS) {
        events->has_overrun = events->is_lossy = true;
    } else if (r < 0 && r != -EMSGSIZE) {
        give_up(events, r);
    }
    return 0;
}
