/* SPDX-License-Identifier: MIT */
/*
 * The request socket. Which requests and what their answers mean is the callers'.
 */
#include "channel.h"

#include "internal.h"

#include <errno.h>
#include <linux/netlink.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
    BUFFER_BYTES = 32 * 1024,
    /* Answers to a full batch, each an skb of about 1 KB with its bookkeeping. */
    RECEIVE_BUFFER_BYTES = 1024 * 1024,
    MAX_DUMP_RESTARTS = 8,
};

static int set_option(int fd, int option)
{
    const int on = 1;

    return setsockopt(fd, SOL_NETLINK, option, &on, sizeof(on)) < 0 ? -errno : 0;
}

int channel_init(struct channel *channel)
{
    const int receive_bytes = RECEIVE_BUFFER_BYTES;
    int fd;

    *channel = (struct channel){ .socket = nl_socket_alloc() };
    channel->buffer = malloc(BUFFER_BYTES);
    channel->batch = malloc(BATCH_MAX_BYTES);
    if (!channel->socket || !channel->buffer || !channel->batch)
        return -ENOMEM;
    errno = 0;
    if (nl_connect(channel->socket, NETLINK_ROUTE) < 0)
        return errno ? -errno : -EIO;
    fd = nl_socket_get_fd(channel->socket);
    /* Beyond rmem_max with CAP_NET_ADMIN; without it what is allowed. */
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &receive_bytes, sizeof(receive_bytes)) < 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(receive_bytes));
    /* Old kernels have no better words and no short acknowledgements: both are extras. */
    set_option(fd, NETLINK_EXT_ACK);
    set_option(fd, NETLINK_CAP_ACK);
    /* Without strict checking the kernel ignores the table of a dump request. */
    return set_option(fd, NETLINK_GET_STRICT_CHK);
}

void channel_deinit(struct channel *channel)
{
    if (channel->socket)
        nl_socket_free(channel->socket);
    free(channel->buffer);
    free(channel->batch);
    *channel = (struct channel){ 0 };
}

uint32_t channel_port(const struct channel *channel)
{
    return nl_socket_get_local_port(channel->socket);
}

bool channel_has_room(const struct channel *channel, uint32_t n)
{
    return channel->batch_n + n <= BATCH_MAX_REQUESTS &&
           channel->batch_bytes + (size_t)n * REQUEST_MAX_BYTES <= BATCH_MAX_BYTES;
}

void channel_add_copy(struct channel *channel, const struct nl_msg *message)
{
    const struct nlmsghdr *header = nlmsg_hdr((struct nl_msg *)message);
    struct nlmsghdr *added = (struct nlmsghdr *)(channel->batch + channel->batch_bytes);
    size_t padded = NLMSG_ALIGN(header->nlmsg_len);

    if (padded > header->nlmsg_len)
        memset(channel->batch + channel->batch_bytes + padded - NLMSG_ALIGNTO, 0, NLMSG_ALIGNTO);
    memcpy(added, header, header->nlmsg_len);
    added->nlmsg_pid = 0;
    added->nlmsg_seq = ++channel->sequence;
    channel->last_request = (uint32_t)channel->batch_bytes;
    channel->batch_bytes += padded;
    channel->batch_n++;
}

int channel_add(struct channel *channel, struct nl_msg *message)
{
    if (!message) {
        channel->batch_n = 0;
        channel->batch_bytes = 0;
        return -ENOMEM;
    }
    channel_add_copy(channel, message);
    nlmsg_free(message);
    return 0;
}

/*
 * One datagram from the kernel. Returns its bytes, 0 where there is none. Whatever another process
 * sent to us is skipped.
 */
static ssize_t receive(struct channel *channel)
{
    for (;;) {
        struct sockaddr_nl from = { 0 };
        struct iovec iov = { .iov_base = channel->buffer, .iov_len = BUFFER_BYTES };
        struct msghdr header = {
            .msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = &iov, .msg_iovlen = 1
        };
        ssize_t n = recvmsg(nl_socket_get_fd(channel->socket), &header, MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? 0 : -errno;
        if (from.nl_pid == 0 && !(header.msg_flags & MSG_TRUNC))
            return n;
        channel->malformed++;
    }
}

static int error_of(const struct nlmsghdr *message)
{
    const struct nlmsgerr *error = nlmsg_data(message);

    /* Above 0 it is none, and would be taken for an outcome of ours. */
    return nlmsg_valid_hdr(message, sizeof(*error)) && error->error <= 0 ? error->error : -EBADMSG;
}

/* A dump may end early, at a route larger than any buffer: its last message says so. */
static int done_error(const struct nlmsghdr *message)
{
    int error = 0;

    if (nlmsg_datalen(message) >= (int)sizeof(error))
        memcpy(&error, nlmsg_data(message), sizeof(error));
    return error < 0 ? error : 0;
}

/* The kernel's words behind an error; they stand behind the request that it echoes. */
static void text_of(const struct nlmsghdr *message, char *text, size_t size)
{
    const struct nlmsgerr *error = nlmsg_data(message);
    size_t skip = sizeof(*error);
    const struct nlattr *attribute;
    int remaining;

    text[0] = '\0';
    if (!(message->nlmsg_flags & NLM_F_ACK_TLVS) || !nlmsg_valid_hdr(message, sizeof(*error)))
        return;
    if (!(message->nlmsg_flags & NLM_F_CAPPED)) {
        if (error->msg.nlmsg_len < sizeof(error->msg) || error->msg.nlmsg_len > message->nlmsg_len)
            return;
        skip += NLMSG_ALIGN(error->msg.nlmsg_len - sizeof(error->msg));
    }
    if (!nlmsg_valid_hdr(message, (int)skip))
        return;
    nlmsg_for_each_attr(attribute, message, (int)skip, remaining)
    {
        if (nla_type(attribute) == NLMSGERR_ATTR_MSG)
            snprintf(text, size, "%.*s", nla_len(attribute), (const char *)nla_data(attribute));
    }
}

/* Hands out the answers of one datagram. Returns whether the last request was answered. */
static bool answers_of(struct channel *channel, ssize_t n_bytes, uint32_t n_requests,
                       channel_answer_fn *on_answer, void *userdata)
{
    const struct nlmsghdr *message = (const struct nlmsghdr *)channel->buffer;
    uint32_t first = channel->sequence - n_requests + 1;
    int remaining = (int)n_bytes;
    bool is_last = false;

    for (; nlmsg_ok(message, remaining); message = nlmsg_next((void *)message, &remaining)) {
        uint32_t n = message->nlmsg_seq - first;
        char text[96] = "";
        int error = 0;

        if (n >= n_requests || message->nlmsg_pid != channel_port(channel)) {
            channel->malformed++;
            continue;
        }
        if (message->nlmsg_type == NLMSG_ERROR) {
            error = error_of(message);
            text_of(message, text, sizeof(text));
            is_last |= n == n_requests - 1;
        }
        on_answer(userdata, n, message, error, text);
    }
    channel->malformed += remaining > 0;
    return is_last;
}

int channel_exchange(struct channel *channel, channel_answer_fn *on_answer, void *userdata)
{
    uint32_t n_requests = channel->batch_n;
    size_t n_bytes = channel->batch_bytes;
    bool is_answered = false;
    ssize_t n;

    if (n_requests == 0)
        return 0;
    channel->batch_n = 0;
    channel->batch_bytes = 0;
    /* The acknowledgement of the last one tells that there are no more answers. */
    ((struct nlmsghdr *)(channel->batch + channel->last_request))->nlmsg_flags |= NLM_F_ACK;
    do
        n = send(nl_socket_get_fd(channel->socket), channel->batch, n_bytes, 0);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;

    while (!is_answered) {
        n = receive(channel);
        if (n < 0)
            return (int)n;
        if (n == 0)
            return -ENOBUFS;
        is_answered = answers_of(channel, n, n_requests, on_answer, userdata);
    }
    return 0;
}

struct request_result {
    int error;
    struct riptide_error *text;
};

static void request_answer(void *userdata, uint32_t n, const struct nlmsghdr *answer, int error,
                           const char *text)
{
    struct request_result *result = userdata;

    (void)n;
    (void)answer;
    result->error = error;
    if (error)
        error_set(result->text, "%s", text[0] ? text : strerror(-error));
}

int channel_request(struct channel *channel, struct nl_msg *message, struct riptide_error *error)
{
    struct request_result result = { .text = error };
    int r = channel_add(channel, message);

    if (r == 0)
        r = channel_exchange(channel, request_answer, &result);
    return r < 0 ? r : result.error;
}

int channel_dump(struct channel *channel, struct nl_msg *message)
{
    struct nlmsghdr *header;
    ssize_t n;

    if (!message)
        return -ENOMEM;
    /* What is left of a dump that was given up would make the kernel refuse this one. */
    while (receive(channel) > 0)
        ;
    header = nlmsg_hdr(message);
    header->nlmsg_pid = 0;
    header->nlmsg_seq = ++channel->sequence;
    do
        n = send(nl_socket_get_fd(channel->socket), header, header->nlmsg_len, 0);
    while (n < 0 && errno == EINTR);
    n = n < 0 ? -errno : 0;
    nlmsg_free(message);
    channel->is_interrupted = false;
    return (int)n;
}

int channel_dump_step(struct channel *channel, channel_message_fn *on_message, void *userdata)
{
    const struct nlmsghdr *message = (const struct nlmsghdr *)channel->buffer;
    ssize_t n = receive(channel);
    int r, remaining = (int)n;

    if (n < 0)
        return (int)n;
    if (n == 0)
        return -ENOBUFS;
    for (; nlmsg_ok(message, remaining); message = nlmsg_next((void *)message, &remaining)) {
        if (message->nlmsg_seq != channel->sequence ||
            message->nlmsg_pid != channel_port(channel)) {
            channel->malformed++;
            continue;
        }
        if (message->nlmsg_flags & NLM_F_DUMP_INTR)
            channel->is_interrupted = true;
        if (message->nlmsg_type == NLMSG_DONE) {
            r = done_error(message);
            if (r < 0)
                return r;
            return channel->is_interrupted ? RIPTIDE_E_RESTARTED : RIPTIDE_E_DONE;
        }
        if (message->nlmsg_type == NLMSG_ERROR)
            return error_of(message);
        r = on_message(userdata, message);
        if (r < 0)
            return r;
    }
    channel->malformed += remaining > 0;
    return 0;
}

int channel_dump_all(struct channel *channel, struct nl_msg *(*begin)(void *userdata),
                     channel_message_fn *on_message, void *userdata)
{
    int r = RIPTIDE_E_RESTARTED;

    for (int i = 0; r == RIPTIDE_E_RESTARTED && i <= MAX_DUMP_RESTARTS; i++) {
        r = channel_dump(channel, begin(userdata));
        while (r == 0)
            r = channel_dump_step(channel, on_message, userdata);
    }
    return r == RIPTIDE_E_DONE ? 0 : r == RIPTIDE_E_RESTARTED ? -EINTR : r;
}

bool channel_is_transient(int error)
{
    return error == -ENOBUFS || error == -ENOMEM || error == -EAGAIN || error == -EINTR ||
           error == -EBUSY;
}

bool channel_is_absence(int error)
{
    return error == -EAFNOSUPPORT || error == -EOPNOTSUPP || error == -ENOENT;
}
