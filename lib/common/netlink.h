/* SPDX-License-Identifier: MIT */
/*
 * Netlink: sockets, batches of requests with their answers, dumps, and attributes, over libmnl.
 *
 * The kernel processes a request within send(2), so answers are there when it returns and nothing
 * here ever waits.
 */
#ifndef RIPTIDE_LIB_NETLINK_H
#define RIPTIDE_LIB_NETLINK_H

#include <libmnl/libmnl.h>
#include <riptide/riptide.h>

/*
 * Opens a socket in the thread's network namespace that receives from the kernel only: otherwise
 * root in an observed container could fill its queue. Groups may be joined. The queue has so many
 * bytes, or as many as allowed; 0: the kernel's default. Errors: -ENOMEM, of socket(2), bind(2) and
 * connect(2).
 */
int netlink_open(struct mnl_socket **socketp, int bus, uint32_t queue_bytes);

/* Closes the socket; NULL is allowed. */
void netlink_close(struct mnl_socket *socket);

/* As for NETLINK_ADD_MEMBERSHIP or NETLINK_DROP_MEMBERSHIP of a group. Errors: of setsockopt(2). */
int netlink_set_option(const struct mnl_socket *socket, int option, int value);

/*
 * Reads one datagram if there is one. Outcomes: RIPTIDE_E_AGAIN, there is none; RIPTIDE_E_INVALID,
 * not from the kernel, as any process can send to the groups. Errors: of recv(2), -EMSGSIZE if the
 * datagram is longer than the buffer.
 */
int netlink_receive(const struct mnl_socket *socket, void *buffer, size_t size, size_t *lenp);

/* Whether there is no datagram to read. */
bool netlink_is_empty(const struct mnl_socket *socket);

/*
 * The rest of a datagram's messages, or of a message's attributes, aligned to four bytes. After the
 * last one `left` is 0, or its length was invalid.
 */
struct netlink_walk {
    const void *next;
    size_t left;
};

/* Steps over the next one, whose length is `len`, or returns NULL. It may lack its padding. */
static inline const void *netlink_step(struct netlink_walk *walk, size_t len, size_t header_bytes)
{
    const void *next = walk->next;
    size_t step = NLMSG_ALIGN(len);

    if (len < header_bytes || len > walk->left)
        return NULL;
    step = step < walk->left ? step : walk->left;
    walk->next = (const char *)next + step;
    walk->left -= step;
    return next;
}

/*
 * The next message, or NULL. Inline, and without libmnl, for the loop over the host's sockets: with
 * libmnl's functions a walk over a datagram costs 21 ns for each socket instead of 5, and one over
 * its attributes 76 instead of 17.
 */
static inline const struct nlmsghdr *netlink_next_message(struct netlink_walk *walk)
{
    const struct nlmsghdr *message = walk->next;

    if (walk->left < sizeof(*message))
        return NULL;
    return netlink_step(walk, message->nlmsg_len, sizeof(*message));
}

/* The next attribute, or NULL. */
static inline const struct nlattr *netlink_next(struct netlink_walk *walk)
{
    const struct nlattr *attr = walk->next;

    return walk->left < sizeof(*attr) ? NULL : netlink_step(walk, attr->nla_len, sizeof(*attr));
}

/* Whether a message has a header of n bytes. */
static inline bool netlink_has_header(const struct nlmsghdr *message, size_t n_bytes)
{
    return mnl_nlmsg_get_payload_len(message) >= n_bytes;
}

/* A message's attributes after the header of its type, which must be there; and nested ones. */
struct netlink_walk netlink_attrs(const struct nlmsghdr *message, size_t header_bytes);
struct netlink_walk netlink_nested(const struct nlattr *attr);

/* The first one of that type, or NULL. */
const struct nlattr *netlink_find(struct netlink_walk attrs, uint16_t type);

/* Reads a number; false if the attribute is not 4 bytes long. */
bool netlink_u32(const struct nlattr *attr, uint32_t *value);

/* Begins a request in a buffer of REQUEST_MAX_BYTES, with the header of its type. */
struct nlmsghdr *netlink_begin(void *room, uint16_t type, uint16_t flags, const void *header,
                               size_t header_bytes);

enum {
    /* The kernel's largest datagram of a dump. */
    NETLINK_BUFFER_BYTES = 32 * 1024,
    /*
     * Requests in one batch. Without CAP_NET_ADMIN the receive buffer has no room for more answers,
     * whose routes may be large.
     */
    BATCH_MAX_REQUESTS = 128,
    /* Above the largest request: a route with all metrics. */
    REQUEST_MAX_BYTES = 512,
};

struct netlink {
    struct mnl_socket *socket;
    uint32_t sequence;   /* of the last request */
    uint64_t malformed;  /* messages that were no answers to our requests; skipped */
    bool is_interrupted; /* a change interrupted the present dump */
    size_t batch_bytes;
    uint32_t batch_n;              /* requests */
    struct nlmsghdr *last_request; /* of them */
    int error;     /* of the last answer: -errno; 0: it is an acknowledgement, or has data */
    char text[96]; /* the kernel's for it, or empty */
    _Alignas(struct nlmsghdr) uint8_t buffer[NETLINK_BUFFER_BYTES]; /* received datagram */
    _Alignas(struct nlmsghdr) uint8_t batch[BATCH_MAX_REQUESTS * REQUEST_MAX_BYTES];
};

/* A socket for rtnetlink. Errors: as netlink_open. */
int netlink_init(struct netlink *netlink);
void netlink_deinit(struct netlink *netlink);

/* Where the next request is built, of a batch that is not full; then it is added, or sent alone. */
void *netlink_room(struct netlink *netlink);
void netlink_add(struct netlink *netlink, struct nlmsghdr *request);

/* Called with each answer to request number n of the batch. `error` and `text` are of it. */
typedef void netlink_answer_fn(void *userdata, uint32_t n, const struct nlmsghdr *answer);

/*
 * Sends the batch and hands out the kernel's answers; an empty batch is allowed. Errors: those of
 * send(2) and recv(2); -ENOBUFS: answers were lost, so the effect of the requests is unknown.
 */
int netlink_exchange(struct netlink *netlink, netlink_answer_fn *on_answer, void *userdata);

/*
 * As netlink_exchange for one request without data in its answer, where the batch is empty: 0, or
 * the error with its text.
 */
int netlink_request(struct netlink *netlink, struct nlmsghdr *request, struct riptide_error *error);

/* The error of an NLMSG_ERROR or NLMSG_DONE, 0: none; -EBADMSG if it is too short. */
int netlink_end_error(const struct nlmsghdr *message);

/* Begins a dump. Errors: of send(2). */
int netlink_dump(struct netlink *netlink, struct nlmsghdr *request);

typedef int netlink_message_fn(void *userdata, const struct nlmsghdr *message);

/*
 * Reads one buffer of the dump and hands out its messages; a negative result of on_message ends it.
 * Returns RIPTIDE_E_DONE at its end; is_interrupted then says whether it is consistent.
 * Errors: -ENOBUFS, those of recv(2) and of the kernel's answer; -EMSGSIZE if the dump ended at an
 * object too large to show.
 */
int netlink_dump_step(struct netlink *netlink, netlink_message_fn *on_message, void *userdata);

#endif
