/* SPDX-License-Identifier: MIT */
/*
 * One dump after another: first the host's own prefixes, then its sockets. Handles failures; hands
 * out messages about sockets, which the observer interprets. The kernel never marks such a dump as
 * interrupted: at most it misses or repeats a few sockets that open or close meanwhile.
 */
#ifndef RIPTIDE_LIB_OBSERVE_DUMP_H
#define RIPTIDE_LIB_OBSERVE_DUMP_H

#include "netlink.h"
#include "observe/filter.h"

#include <linux/inet_diag.h>
#include <riptide/observe.h>

/*
 * Nothing is requested before all old messages have been read: the kernel continues a dump that was
 * given up, and refuses another one until its end; and it drops answers silently while a queue that
 * has overrun is not empty. The socket stays open, as another one could be in another namespace.
 */
struct dump {
    struct riptide_observer_stats *stats; /* not owned */
    const struct filter *filter;          /* not owned */
    enum {
        DUMP_IDLE,
        DUMP_WAITING, /* the request for sockets waits until all old messages are read */
        DUMP_RUNNING,
        DUMP_ENDED, /* its end has not been popped yet */
    } phase;
    struct netlink netlink; /* of the first part; its buffers are also those of the second */
    struct mnl_socket *sockets;
    uint32_t portid;         /* of the sock_diag socket, */
    uint32_t seq;            /* of the latest request on it */
    uint32_t n_fruitless;    /* refused calls of dump_start since the kernel's last message */
    struct prefix_set local; /* of the last dump that read them to the end */
    /* In the buffer, for dump_pop; their lengths are valid. Empty while the first part uses it. */
    struct netlink_walk unread;
};

/* In the thread's network namespace. The caller sets the first two members, all others to zero. */
int dump_open(struct dump *dump);

/* Also if dump_open failed, or has not been called. */
void dump_close(struct dump *dump);

/* As those of an observer, but an empty socket is an outcome: RIPTIDE_E_AGAIN. */
int dump_start(struct dump *dump);
int dump_dispatch(struct dump *dump);

/*
 * Adds an address of this host, or a prefix that it answers for (AnyIP), from a route of the table
 * `local`; skips other types and tables. Errors: as route_parse and prefix_set_add.
 */
int local_add_route(struct prefix_set *local, const struct nlmsghdr *message);

/*
 * As riptide_observer_pop, but returns the message about a socket, or NULL. Inline, like the walk
 * over messages.
 */
static inline int dump_pop(struct dump *dump, const struct nlmsghdr **messagep)
{
    do
        *messagep = netlink_next_message(&dump->unread);
    while (*messagep && (*messagep)->nlmsg_type != TCPDIAG_GETSOCK);
    if (*messagep)
        return 0;
    if (dump->phase != DUMP_ENDED)
        return RIPTIDE_E_AGAIN;
    dump->phase = DUMP_IDLE;
    return RIPTIDE_E_DONE;
}

#endif
