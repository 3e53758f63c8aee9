/* SPDX-License-Identifier: MIT */
/* Netlink sockets, requests and answers. Callers interpret them. */
#include "netlink.h"

#include "internal.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum {
    /* Answers to a full batch, each an skb of about 1 KB with its bookkeeping. */
    RECEIVE_BUFFER_BYTES = 1024 * 1024,
    /* The kernel refuses a longer message at once; net.core.wmem_default may be small. */
    SEND_BUFFER_BYTES = 128 * 1024,
};

int netlink_set_option(const struct mnl_socket *socket, int option, int value)
{
    return mnl_socket_setsockopt(socket, option, &value, sizeof(value)) < 0 ? -errno : 0;
}

/* Beyond rmem_max or wmem_max with CAP_NET_ADMIN; without it up to these. */
static void set_buffer(const struct mnl_socket *socket, int forced, int option, uint32_t n_bytes)
{
    int fd = mnl_socket_get_fd(socket);

    if (setsockopt(fd, SOL_SOCKET, forced, &n_bytes, sizeof(n_bytes)) < 0)
        setsockopt(fd, SOL_SOCKET, option, &n_bytes, sizeof(n_bytes));
}

int netlink_open(struct mnl_socket **socketp, int bus, uint32_t queue_bytes)
{
    const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
    struct mnl_socket *socket = mnl_socket_open2(bus, SOCK_CLOEXEC | SOCK_NONBLOCK);
    int r;

    /* libmnl does not connect its sockets, which would so accept messages of any process. */
    if (!socket || mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0 ||
        connect(mnl_socket_get_fd(socket), (const struct sockaddr *)&kernel, sizeof(kernel)) < 0) {
        r = -errno;
        netlink_close(socket);
        return r;
    }
    /*
     * Old kernels lack these options: error texts, acknowledgements without the request (which may
     * be longer than our buffer), filters of dumps. Callers that need one check again.
     */
    netlink_set_option(socket, NETLINK_EXT_ACK, 1);
    netlink_set_option(socket, NETLINK_CAP_ACK, 1);
    netlink_set_option(socket, NETLINK_GET_STRICT_CHK, 1);
    set_buffer(socket, SO_SNDBUFFORCE, SO_SNDBUF, SEND_BUFFER_BYTES);
    if (queue_bytes > 0)
        set_buffer(socket, SO_RCVBUFFORCE, SO_RCVBUF, queue_bytes);
    *socketp = socket;
    return 0;
}

void netlink_close(struct mnl_socket *socket)
{
    if (socket)
        mnl_socket_close(socket);
}

/* Not mnl_socket_recvfrom, which does not return the sender: any process can send multicasts. */
int netlink_receive(const struct mnl_socket *socket, void *buffer, size_t size, size_t *lenp)
{
    struct sockaddr_nl from = { 0 };
    struct iovec iov = { .iov_base = buffer, .iov_len = size };
    struct msghdr msg = {
        .msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = &iov, .msg_iovlen = 1
    };
    ssize_t len;

    do
        len = recvmsg(mnl_socket_get_fd(socket), &msg, MSG_DONTWAIT);
    while (len < 0 && errno == EINTR);
    if (len < 0)
        return errno == EAGAIN ? RIPTIDE_E_AGAIN : -errno;
    if (from.nl_pid != 0)
        return RIPTIDE_E_INVALID;
    if (msg.msg_flags & MSG_TRUNC)
        return -EMSGSIZE;
    *lenp = (size_t)len;
    return 0;
}

bool netlink_is_empty(const struct mnl_socket *socket)
{
    struct pollfd fd = { .fd = mnl_socket_get_fd(socket), .events = POLLIN };

    return poll(&fd, 1, 0) == 0;
}

struct netlink_walk netlink_attrs(const struct nlmsghdr *message, size_t header_bytes)
{
    size_t begin = NLMSG_ALIGN(header_bytes), n_bytes = mnl_nlmsg_get_payload_len(message);

    return (struct netlink_walk){ mnl_nlmsg_get_payload_offset(message, begin),
                                  n_bytes < begin ? 0 : n_bytes - begin };
}

struct netlink_walk netlink_nested(const struct nlattr *attr)
{
    return (struct netlink_walk){ mnl_attr_get_payload(attr), mnl_attr_get_payload_len(attr) };
}

const struct nlattr *netlink_find(struct netlink_walk attrs, uint16_t type)
{
    const struct nlattr *attr;

    do
        attr = netlink_next(&attrs);
    while (attr && mnl_attr_get_type(attr) != type);
    return attr;
}

bool netlink_u32(const struct nlattr *attr, uint32_t *value)
{
    if (mnl_attr_get_payload_len(attr) != sizeof(*value))
        return false;
    *value = mnl_attr_get_u32(attr);
    return true;
}

struct nlmsghdr *netlink_begin(void *room, uint16_t type, uint16_t flags, const void *header,
                               size_t header_bytes)
{
    /* Cleared, as libmnl leaves the padding of attributes as it is before 1.0.5. */
    struct nlmsghdr *request = mnl_nlmsg_put_header(memset(room, 0, REQUEST_MAX_BYTES));

    request->nlmsg_type = type;
    request->nlmsg_flags = flags | NLM_F_REQUEST;
    memcpy(mnl_nlmsg_put_extra_header(request, header_bytes), header, header_bytes);
    return request;
}

int netlink_init(struct netlink *netlink)
{
    int r;

    memset(netlink, 0, offsetof(struct netlink, buffer));
    r = netlink_open(&netlink->socket, NETLINK_ROUTE, RECEIVE_BUFFER_BYTES);
    if (r < 0)
        return r;
    /* Without strict checking the kernel ignores the table of a dump request. */
    return netlink_set_option(netlink->socket, NETLINK_GET_STRICT_CHK, 1);
}

void netlink_deinit(struct netlink *netlink)
{
    netlink_close(netlink->socket);
    netlink->socket = NULL;
}

void *netlink_room(struct netlink *netlink)
{
    return netlink->batch + netlink->batch_bytes;
}

void netlink_add(struct netlink *netlink, struct nlmsghdr *request)
{
    request->nlmsg_seq = ++netlink->sequence;
    netlink->last_request = request;
    netlink->batch_bytes += NLMSG_ALIGN(request->nlmsg_len);
    netlink->batch_n++;
}

/* Receives a datagram of the kernel, skipping others. Errors: -ENOBUFS: there is none. */
static int receive(struct netlink *netlink, struct netlink_walk *walk)
{
    int r;

    *walk = (struct netlink_walk){ (void *)netlink->buffer, 0 };
    for (;;) {
        r = netlink_receive(netlink->socket, netlink->buffer, NETLINK_BUFFER_BYTES, &walk->left);
        if (r != RIPTIDE_E_INVALID && r != -EMSGSIZE)
            return r == RIPTIDE_E_AGAIN ? -ENOBUFS : r;
        netlink->malformed++;
    }
}

/* A dump may end early, at a route larger than any buffer: its last message has the error. */
int netlink_end_error(const struct nlmsghdr *message)
{
    int error = message->nlmsg_type == NLMSG_ERROR ? -EBADMSG : 0;

    if (netlink_has_header(message, sizeof(error)))
        memcpy(&error, mnl_nlmsg_get_payload(message), sizeof(error));
    /* A positive value is no error, and would be taken for an outcome. */
    return error <= 0 ? error : -EBADMSG;
}

/*
 * The kernel's text for an error, if the message does not echo the request before it: netlink_open
 * requests that, but the kernel may still echo one without a text.
 */
static void read_text(struct netlink *netlink, const struct nlmsghdr *message)
{
    const uint16_t flags = NLM_F_ACK_TLVS | NLM_F_CAPPED;
    const struct nlattr *words = NULL;

    if (message->nlmsg_type == NLMSG_ERROR && (message->nlmsg_flags & flags) == flags &&
        netlink_has_header(message, sizeof(struct nlmsgerr)))
        words = netlink_find(netlink_attrs(message, sizeof(struct nlmsgerr)), NLMSGERR_ATTR_MSG);
    snprintf(netlink->text, sizeof(netlink->text), "%.*s",
             words ? mnl_attr_get_payload_len(words) : 0,
             words ? (const char *)mnl_attr_get_payload(words) : "");
}

/* The next message of a datagram that answers one of the last n requests; NULL: no more. */
static const struct nlmsghdr *next_answer(struct netlink *netlink, struct netlink_walk *walk,
                                          uint32_t n)
{
    const struct nlmsghdr *message;

    while ((message = netlink_next_message(walk))) {
        if (netlink->sequence - message->nlmsg_seq < n &&
            message->nlmsg_pid == mnl_socket_get_portid(netlink->socket))
            return message;
        netlink->malformed++;
    }
    netlink->malformed += walk->left > 0;
    return NULL;
}

int netlink_exchange(struct netlink *netlink, netlink_answer_fn *on_answer, void *userdata)
{
    uint32_t n_requests = netlink->batch_n, first = netlink->sequence - n_requests + 1;
    const struct nlmsghdr *message;
    struct netlink_walk walk;
    bool is_answered = false;
    int r;

    if (n_requests == 0)
        return 0;
    /* The acknowledgement of the last request ends the answers. */
    netlink->last_request->nlmsg_flags |= NLM_F_ACK;
    r = mnl_socket_sendto(netlink->socket, netlink->batch, netlink->batch_bytes) < 0 ? -errno : 0;
    netlink->batch_n = 0;
    netlink->batch_bytes = 0;
    while (r == 0 && !is_answered) {
        r = receive(netlink, &walk);
        while (r == 0 && (message = next_answer(netlink, &walk, n_requests))) {
            bool is_end = message->nlmsg_type == NLMSG_ERROR;

            netlink->error = is_end ? netlink_end_error(message) : 0;
            read_text(netlink, message);
            is_answered |= is_end && message->nlmsg_seq == netlink->sequence;
            if (on_answer)
                on_answer(userdata, message->nlmsg_seq - first, message);
        }
    }
    return r;
}

int netlink_request(struct netlink *netlink, struct nlmsghdr *request, struct riptide_error *error)
{
    int r;

    netlink_add(netlink, request);
    r = netlink_exchange(netlink, NULL, NULL);
    if (r == 0 && netlink->error)
        error_set(error, "%s", netlink->text[0] ? netlink->text : strerror(-netlink->error));
    return r < 0 ? r : netlink->error;
}

int netlink_dump(struct netlink *netlink, struct nlmsghdr *request)
{
    struct netlink_walk rest;

    /* The rest of a dump that was given up would make the kernel refuse this one. */
    while (receive(netlink, &rest) == 0)
        ;
    request->nlmsg_seq = ++netlink->sequence;
    netlink->is_interrupted = false;
    return mnl_socket_sendto(netlink->socket, request, request->nlmsg_len) < 0 ? -errno : 0;
}

int netlink_dump_step(struct netlink *netlink, netlink_message_fn *on_message, void *userdata)
{
    const struct nlmsghdr *message;
    struct netlink_walk walk;
    int r = receive(netlink, &walk);

    while (r >= 0 && (message = next_answer(netlink, &walk, 1))) {
        if (message->nlmsg_flags & NLM_F_DUMP_INTR)
            netlink->is_interrupted = true;
        if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR) {
            r = netlink_end_error(message);
            return r < 0 ? r : RIPTIDE_E_DONE;
        }
        r = on_message(userdata, message);
    }
    return r < 0 ? r : 0;
}
