/* SPDX-License-Identifier: MIT */
/*
 * One dump after another: first the host's own prefixes, then its sockets. Knows phases,
 * interruptions and restarts; hands out messages about sockets, whose meaning is the observer's.
 */
#ifndef RIPTIDE_LIB_OBSERVE_DUMP_H
#define RIPTIDE_LIB_OBSERVE_DUMP_H

#include "netlink.h"
#include "observe/filter.h"

#include <linux/inet_diag.h>
#include <riptide/observe.h>

/* A dump goes through these in order. */
enum dump_phase { DUMP_LOCAL, DUMP_SOCKETS, DUMP_IDLE };

/*
 * The kernel runs one dump per socket and has no way to stop it short of closing the socket; the
 * observer must not do that, because a new socket could be in another network namespace. So a dump
 * of sockets that is given up goes on, and a request behind it is refused until it has been read to
 * its end. And a socket whose queue has overrun says so once; until the queue is empty the kernel
 * loses answers without a word. So nothing is asked for before all that is old was read.
 */
struct dump {
    struct riptide_observer_stats *stats; /* not ours */
    const struct filter *filter;          /* not ours */
    uint32_t max_restarts;
    bool congestion_control;
    int epoll_fd; /* of both sockets: the caller has one fd to wait on */
    struct netlink routes;
    struct mnl_socket *sockets;
    uint32_t portid; /* of the latter, */
    uint32_t seq;    /* and of the latest request on it */
    enum dump_phase phase;
    bool is_waiting; /* to ask for sockets until what is old was read */
    uint32_t restarts_left;
    uint32_t n_fruitless; /* calls of dump_start since the kernel last said anything */
    int word;             /* RIPTIDE_E_RESTARTED or RIPTIDE_E_DONE, to be said; 0: neither */
    struct prefix_set local;        /* as the last dump that got so far found it */
    struct prefix_set next_local;   /* as this one does */
    struct netlink_messages unread; /* in buffer, for dump_pop; their lengths are true */
    _Alignas(struct nlmsghdr) unsigned char buffer[NETLINK_BUFFER_BYTES];
};

/*
 * Opens in the thread's network namespace. The first four members are set by the caller, all others
 * zero. Errors: of socket(2).
 */
int dump_open(struct dump *dump, struct riptide_error *error);

/* Also for one whose dump_open failed, or did not come yet: then epoll_fd is -1. */
void dump_close(struct dump *dump);

/* As riptide_observer_start and riptide_observer_dispatch, but that finding nothing is an outcome:
 * RIPTIDE_E_AGAIN. */
int dump_start(struct dump *dump);
int dump_dispatch(struct dump *dump);

/*
 * Adds what is this host itself, an address or a prefix that it answers for (AnyIP), given a route
 * of the table `local`, its RTM_NEWROUTE aligned to four bytes. Other types of route and other
 * tables are passed over. Pure but for memory. Outcomes: RIPTIDE_E_INVALID, the message cannot be
 * what it claims. Errors: -ENOMEM.
 */
int local_add_route(struct prefix_set *local, const struct nlmsghdr *message);

/* Whether none is under way, and the end of the last one was popped. */
bool dump_is_idle(const struct dump *dump);

/* What dump_pop does where there is no message any more. */
int dump_take_word(struct dump *dump);

/* As riptide_observer_pop, but with the message about a socket, NULL where there is none. Inline,
 * as the walk over messages is. */
static inline int dump_pop(struct dump *dump, const struct nlmsghdr **messagep)
{
    do
        *messagep = netlink_next_message(&dump->unread);
    while (*messagep && (*messagep)->nlmsg_type != TCPDIAG_GETSOCK);
    return *messagep ? 0 : dump_take_word(dump);
}

#endif
