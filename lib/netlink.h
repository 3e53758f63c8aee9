/* SPDX-License-Identifier: MIT */
/*
 * Netlink for all that talks to the kernel: sockets, batches of requests with their answers, dumps,
 * and the search for attributes, over libmnl.
 *
 * The kernel works on a request within send(2), so answers are there when it returns and nothing
 * here ever waits.
 */
#ifndef RIPTIDE_LIB_NETLINK_H
#define RIPTIDE_LIB_NETLINK_H

#include <libmnl/libmnl.h>
#include <riptide/riptide.h>

/*
 * Opens a socket in the thread's network namespace that gets nothing from anybody but the kernel:
 * otherwise the root of a container that is looked at could fill its queue. Groups may be joined.
 * Errors: -ENOMEM, of socket(2), bind(2) and connect(2).
 */
int netlink_open(struct mnl_socket **socketp, int bus);

/* Closes the socket; NULL is fine. */
void netlink_close(struct mnl_socket *socket);

/* Makes room for what the kernel sends unasked: so many bytes, or what is allowed. */
void netlink_set_queue(const struct mnl_socket *socket, uint32_t n_bytes);

/* NETLINK_ADD_MEMBERSHIP or NETLINK_DROP_MEMBERSHIP. Errors: of setsockopt(2). */
int netlink_set_membership(const struct mnl_socket *socket, int option, int group);

/*
 * Reads one datagram if there is one.
 * Outcomes: RIPTIDE_E_AGAIN, nothing there; RIPTIDE_E_INVALID, not from the kernel. Errors: of
 * recv(2), -EMSGSIZE where the datagram is longer than the buffer.
 */
int netlink_receive(const struct mnl_socket *socket, void *buffer, size_t size, size_t *lenp);

/* Whether there is nothing to read. */
bool netlink_is_empty(const struct mnl_socket *socket);

/* What is left of a datagram, aligned to four bytes; behind its end NULL and 0. */
struct netlink_messages {
    const struct nlmsghdr *next;
    size_t left;
};

/*
 * The next one, or NULL at the end and where a length cannot be true: `left` is not 0 then. Inline,
 * and not by libmnl, for the loop over the host's sockets: with its functions the walks over a
 * datagram cost 21 ns for each socket in place of 5, and one over its attributes 76 in place of 17.
 */
static inline const struct nlmsghdr *netlink_next_message(struct netlink_messages *messages)
{
    const struct nlmsghdr *message = messages->next;
    size_t step;

    if (messages->left < sizeof(*message) || message->nlmsg_len < sizeof(*message) ||
        message->nlmsg_len > messages->left)
        return NULL;
    /* The last one may lack its padding. */
    step = NLMSG_ALIGN((size_t)message->nlmsg_len);
    if (step > messages->left)
        step = messages->left;
    messages->next = (const void *)((const char *)message + step);
    messages->left -= step;
    return message;
}

/* Whether a message has a header of so many bytes. */
static inline bool netlink_has_header(const struct nlmsghdr *message, size_t n_bytes)
{
    return mnl_nlmsg_get_payload_len(message) >= n_bytes;
}

/* The same for attributes in a row. */
struct netlink_attrs {
    const struct nlattr *next;
    int left; /* bytes; behind the last attribute not 0 where a length lies */
};

/* Those of a message behind its own header, which it has, and those within an attribute. */
struct netlink_attrs netlink_attrs(const struct nlmsghdr *message, size_t header_bytes);
struct netlink_attrs netlink_nested(const struct nlattr *attr);

static inline const struct nlattr *netlink_next(struct netlink_attrs *attrs)
{
    const struct nlattr *attr = attrs->next;
    int step;

    if (attrs->left < (int)sizeof(*attr) || attr->nla_len < sizeof(*attr) ||
        attr->nla_len > attrs->left)
        return NULL;
    step = (int)NLMSG_ALIGN(attr->nla_len);
    if (step > attrs->left)
        step = attrs->left;
    attrs->next = (const void *)((const char *)attr + step);
    attrs->left -= step;
    return attr;
}

/* The first one of that type; NULL: none. */
const struct nlattr *netlink_find(struct netlink_attrs attrs, uint16_t type);

/* Reads the number of an attribute; false where it is not 4 bytes long. */
bool netlink_u32(const struct nlattr *attr, uint32_t *value);

/* Begins a request in a room, with the header that its type has. */
struct nlmsghdr *netlink_begin(void *room, uint16_t type, uint16_t flags, const void *header,
                               size_t header_bytes);

/* As mnl_attr_put, which leaves the padding as it was before libmnl 1.0.5. */
void netlink_put(struct nlmsghdr *request, uint16_t type, const void *data, size_t n_bytes);

enum {
    /* The kernel fills no more of a dump into one datagram. */
    NETLINK_BUFFER_BYTES = 32 * 1024,
    /* Requests in one batch: their answers, all of them errors, must fit the receive buffer. */
    BATCH_MAX_REQUESTS = 1024,
    BATCH_MAX_BYTES = 64 * 1024,
    /* The largest request: a route that carries over as much as a base route may hold. */
    REQUEST_MAX_BYTES = 2560,
};

/* Room for one request of any size, where it is not built in the batch. */
struct netlink_room {
    _Alignas(struct nlmsghdr) uint8_t bytes[REQUEST_MAX_BYTES];
};

struct netlink {
    struct mnl_socket *socket;
    uint32_t sequence;   /* of the last request */
    uint64_t malformed;  /* messages that were not answers to us; skipped */
    bool is_interrupted; /* the dump under way, by changes */
    uint8_t *buffer;     /* what was received */
    uint8_t *batch;      /* what is to be sent */
    size_t batch_bytes;
    uint32_t batch_n;      /* requests */
    uint32_t last_request; /* where the last one begins in `batch` */
};

/* A socket for rtnetlink. Errors: -ENOMEM, those of socket(2). */
int netlink_init(struct netlink *netlink);
void netlink_deinit(struct netlink *netlink);

/* The port id that notifications about our own changes carry. */
uint32_t netlink_port(const struct netlink *netlink);

/* Whether the batch has room for n requests of any size. */
bool netlink_has_room(const struct netlink *netlink, uint32_t n);

/* Where the next request is best built: behind those of the batch, which has room. */
void *netlink_room(const struct netlink *netlink);

/* Adds a request to a batch that has room; one that was built elsewhere is copied. */
void netlink_add(struct netlink *netlink, const struct nlmsghdr *request);

/*
 * Called with each answer to request number n of the batch. For an error (or the acknowledgement
 * of the last request) `error` is its -errno or 0, and `text` the kernel's words or an empty
 * string.
 */
typedef void netlink_answer_fn(void *userdata, uint32_t n, const struct nlmsghdr *answer, int error,
                               const char *text);

/*
 * Sends the batch and hands out what the kernel answers; an empty batch is fine.
 * Errors: those of send(2) and recv(2); -ENOBUFS where answers were lost: what the requests did is
 * not known.
 */
int netlink_exchange(struct netlink *netlink, netlink_answer_fn *on_answer, void *userdata);

/* As netlink_exchange for one request that wants no data: 0, or the kernel's error with its text.
 */
int netlink_request(struct netlink *netlink, const struct nlmsghdr *request,
                    struct riptide_error *error);

/* The error of an NLMSG_ERROR or NLMSG_DONE, 0: none; -EBADMSG where it has no place for one. */
int netlink_end_error(const struct nlmsghdr *message);

/* Begins a dump. Errors: of send(2). */
int netlink_dump(struct netlink *netlink, struct nlmsghdr *request);

/* Whether a dump failed since there is nothing to dump: a family, or a table, that is not there. */
bool netlink_is_absence(int error);

/* Whether the same may go well a moment later: something was short or busy. */
bool netlink_is_transient(int error);

typedef int netlink_message_fn(void *userdata, const struct nlmsghdr *message);

/*
 * Reads one buffer of the dump and hands out its messages; a negative result of on_message ends it.
 * Returns RIPTIDE_E_DONE at its end, RIPTIDE_E_RESTARTED at the end of one that was interrupted by
 * changes. Errors: -ENOBUFS, those of recv(2) and of the kernel's answer; -EMSGSIZE where the dump
 * ended at something that is too large to be shown.
 */
int netlink_dump_step(struct netlink *netlink, netlink_message_fn *on_message, void *userdata);

/*
 * The whole dump at once. `begin` makes the request in the room and forgets what on_message has
 * gathered: it is called again where the dump was interrupted by changes, a few times at most.
 * Errors: -EINTR where it was interrupted each time, those of netlink_dump_step.
 */
typedef struct nlmsghdr *netlink_begin_fn(void *userdata, void *room);
int netlink_dump_all(struct netlink *netlink, netlink_begin_fn *begin,
                     netlink_message_fn *on_message, void *userdata);

#endif
