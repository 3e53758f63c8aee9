/* SPDX-License-Identifier: MIT */
/*
 * One netlink socket that asks for dumps: opened, written, read. What the bytes mean is for
 * reply.h; when to ask for what, for dump.h.
 */
#ifndef RIPTIDE_LIB_OBSERVE_CHANNEL_H
#define RIPTIDE_LIB_OBSERVE_CHANNEL_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    int fd; /* -1: not open */
    uint32_t portid;
    uint32_t seq;    /* of the latest request, or one more where that was given up or has ended */
    bool is_asked;   /* the latest request was sent, and neither given up nor ended */
    bool is_waiting; /* a request is due as soon as the queue is empty */
};

/* Opens in the thread's network namespace. Errors: of socket(2), bind(2) and connect(2). */
int channel_open(struct channel *channel, int bus);
void channel_close(struct channel *channel);

/* Makes a dump request of that type in `buffer`; the caller adds the request's own header. */
struct nlmsghdr *channel_prepare(void *buffer, uint16_t type);

/* Adds a header of zeros to a request whose buffer has room. Returns it. */
void *channel_put(struct nlmsghdr *request, size_t n_bytes);

/*
 * Sends the request with the n bytes of `tail` behind it, a multiple of four that its length does
 * not count yet. Errors: of send(2).
 */
int channel_send(struct channel *channel, struct nlmsghdr *request, const void *tail, size_t n);

/* Whether there is nothing to read. */
bool channel_is_empty(const struct channel *channel);

/* Whatever still comes for the latest request is old from now on. */
void channel_abandon(struct channel *channel);

/*
 * Reads one datagram if there is one.
 * Outcomes: RIPTIDE_E_AGAIN, nothing there; RIPTIDE_E_INVALID, not from the kernel. Errors: of
 * recv(2), -EMSGSIZE where the datagram is longer than the buffer.
 */
int channel_receive(const struct channel *channel, void *buffer, size_t size, size_t *lenp);

#endif
