/* SPDX-License-Identifier: MIT */
/*
 * The two requests of a dump, for the host's own prefixes and for its sockets, and the socket that
 * each is sent on. When to send which is dump.c's; what the answers mean is for reply.h.
 */
#ifndef RIPTIDE_LIB_OBSERVE_REQUEST_H
#define RIPTIDE_LIB_OBSERVE_REQUEST_H

#include "netlink.h"
#include "observe/filter.h"

/*
 * The kernel runs one dump per socket and has no way to stop it short of closing the socket; the
 * observer must not do that, because a new socket could be in another network namespace. So a dump
 * that is given up goes on under its old sequence number, and a request behind it is refused until
 * it has been read to its end.
 *
 * A socket whose queue has overrun says so once; until the queue is empty the kernel loses answers
 * without a word. So nothing is asked for before all that is old was read.
 */
struct channel {
    struct mnl_socket *socket;
    uint32_t seq;    /* of the latest request, or one more where that was given up or has ended */
    bool is_asked;   /* the latest request was sent, and neither given up nor ended */
    bool is_waiting; /* a request is due as soon as the queue is empty */
};

/* Whatever still comes for the latest request is old from now on. */
void request_abandon(struct channel *channel);

/* The routes of the table `local` of that family. Errors: of send(2). */
int request_local(struct channel *channel, uint8_t family);

/*
 * The sockets in these states, as bits, that the filter lets through, with their tcp_info; also
 * with the name of their congestion control. Errors: of send(2).
 */
int request_sockets(struct channel *channel, const struct filter *filter, bool congestion_control,
                    uint32_t states);

#endif
