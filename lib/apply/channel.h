/* SPDX-License-Identifier: MIT */
/*
 * The rtnetlink request socket: batches of requests with their answers, and dumps.
 *
 * The kernel works on a request within send(2), so answers are there when it returns and nothing
 * here ever waits.
 */
#ifndef RIPTIDE_LIB_APPLY_CHANNEL_H
#define RIPTIDE_LIB_APPLY_CHANNEL_H

#include "attrs.h"

#include <netlink/msg.h>
#include <riptide/riptide.h>

enum {
    /* Requests in one batch: their answers, all of them errors, must fit the receive buffer. */
    BATCH_MAX_REQUESTS = 1024,
    BATCH_MAX_BYTES = 64 * 1024,
    /* The largest request: a route that carries over as much as a base route may hold. */
    REQUEST_MAX_BYTES = ATTRS_MAX_BYTES + 512,
};

struct channel {
    struct nl_sock *socket;
    uint32_t sequence;   /* of the last request */
    uint64_t malformed;  /* messages that were not answers to us; skipped */
    bool is_interrupted; /* the dump under way, by changes */
    uint8_t *buffer;     /* what was received */
    uint8_t *batch;      /* what is to be sent */
    size_t batch_bytes;
    uint32_t batch_n;      /* requests */
    uint32_t last_request; /* where the last one begins in `batch` */
};

/* Errors: -ENOMEM, those of socket(2). */
int channel_init(struct channel *channel);
void channel_deinit(struct channel *channel);

/* The port id that notifications about our own changes carry. */
uint32_t channel_port(const struct channel *channel);

/* Whether the batch has room for n requests of any size. */
bool channel_has_room(const struct channel *channel, uint32_t n);

/* Adds a copy of the message to a batch that has room. */
void channel_add_copy(struct channel *channel, const struct nl_msg *message);

/*
 * Adds a request to a batch that has room, and takes the message. NULL stands for an allocation
 * that failed: the whole batch is given up. Errors: -ENOMEM.
 */
int channel_add(struct channel *channel, struct nl_msg *message);

/*
 * Called with each answer to request number n of the batch. For an error (or the acknowledgement
 * of the last request) `error` is its -errno or 0, and `text` the kernel's words or an empty
 * string.
 */
typedef void channel_answer_fn(void *userdata, uint32_t n, const struct nlmsghdr *answer, int error,
                               const char *text);

/*
 * Sends the batch and hands out what the kernel answers; an empty batch is fine.
 * Errors: those of send(2) and recv(2); -ENOBUFS where answers were lost: what the requests did is
 * not known.
 */
int channel_exchange(struct channel *channel, channel_answer_fn *on_answer, void *userdata);

/* As channel_exchange for one request that wants no data: 0, or the kernel's error with its text.
 */
int channel_request(struct channel *channel, struct nl_msg *message, struct riptide_error *error);

/* Begins a dump; takes the message. NULL stands for an allocation that failed. */
int channel_dump(struct channel *channel, struct nl_msg *message);

/* Whether a dump failed since there is nothing to dump: a family, or a table, that is not there. */
bool channel_is_absence(int error);

/* Whether the same may go well a moment later: something was short or busy. */
bool channel_is_transient(int error);

typedef int channel_message_fn(void *userdata, const struct nlmsghdr *message);

/*
 * Reads one buffer of the dump and hands out its messages; a negative result of on_message ends it.
 * Returns RIPTIDE_E_DONE at its end, RIPTIDE_E_RESTARTED at the end of one that was interrupted by
 * changes. Errors: -ENOBUFS, those of recv(2) and of the kernel's answer; -EMSGSIZE where the dump
 * ended at something that is too large to be shown.
 */
int channel_dump_step(struct channel *channel, channel_message_fn *on_message, void *userdata);

/*
 * The whole dump at once. `begin` makes the request and forgets what on_message has gathered: it is
 * called again where the dump was interrupted by changes, a few times at most.
 * Errors: -EINTR where it was interrupted each time, those of channel_dump_step.
 */
int channel_dump_all(struct channel *channel, struct nl_msg *(*begin)(void *userdata),
                     channel_message_fn *on_message, void *userdata);

#endif
