/* SPDX-License-Identifier: MIT */
/*
 * A socket for one question. What messages mean is the asker's.
 */
#include "rtnetlink.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    ONGOING = 1,
    BATCH = 64, /* questions whose answers fit the socket's queue */
    REQUEST_BYTES = 128,
};

static int read_error(const struct nlmsghdr *message)
{
    const struct nlmsgerr *error = nlmsg_data(message);

    /* Above 0 it is none. */
    return nlmsg_valid_hdr(message, sizeof(*error)) && error->error <= 0 ? error->error : -EBADMSG;
}

/* One message: ONGOING where more are to come, else how it ended. */
static int take(const struct nlmsghdr *message, bool is_dump, rtnetlink_message_fn *on_message,
                void *userdata)
{
    if (message->nlmsg_flags & NLM_F_DUMP_INTR)
        return -EINTR;
    if (message->nlmsg_type == NLMSG_ERROR)
        return read_error(message);
    if (message->nlmsg_type == NLMSG_DONE)
        return 0;
    on_message(userdata, message);
    return is_dump ? ONGOING : 0;
}

static int receive(int fd, bool is_dump, rtnetlink_message_fn *on_message, void *userdata)
{
    _Alignas(struct nlmsghdr) char buffer[32768];
    int r = ONGOING;

    while (r == ONGOING) {
        ssize_t n = recv(fd, buffer, sizeof(buffer), 0);
        int left = (int)n;

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        for (struct nlmsghdr *message = (void *)buffer; r == ONGOING && nlmsg_ok(message, left);
             message = nlmsg_next(message, &left))
            r = take(message, is_dump, on_message, userdata);
    }
    return r;
}

int rtnetlink_ask(struct nl_msg *request, rtnetlink_message_fn *on_message, void *userdata)
{
    struct nlmsghdr *header;
    int fd = -1;
    int r = -ENOMEM;

    if (!request)
        return r;
    header = nlmsg_hdr(request);
    header->nlmsg_flags |= NLM_F_REQUEST;
    fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (fd < 0 || send(fd, header, header->nlmsg_len, 0) < 0)
        r = -errno;
    else
        r = receive(fd, header->nlmsg_flags & NLM_F_DUMP, on_message, userdata);
    if (fd >= 0)
        close(fd);
    nlmsg_free(request);
    return r;
}

/* As one datagram: the kernel answers all before send(2) returns. */
static int send_batch(int fd, size_t first, size_t n, rtnetlink_request_fn *request, void *userdata)
{
    _Alignas(struct nlmsghdr) char bytes[BATCH * REQUEST_BYTES];
    size_t n_bytes = 0;

    for (size_t i = first; i < first + n; i++) {
        struct nl_msg *message = request(userdata, i);
        struct nlmsghdr *header = message ? nlmsg_hdr(message) : NULL;
        bool fits = header && NLMSG_ALIGN(header->nlmsg_len) <= sizeof(bytes) - n_bytes;

        if (fits) {
            header->nlmsg_flags |= NLM_F_REQUEST;
            header->nlmsg_seq = (uint32_t)i;
            memcpy(bytes + n_bytes, header, header->nlmsg_len);
            n_bytes += NLMSG_ALIGN(header->nlmsg_len);
        }
        nlmsg_free(message);
        if (!fits)
            return message ? -EMSGSIZE : -ENOMEM;
    }
    return send(fd, bytes, n_bytes, 0) < 0 ? -errno : 0;
}

static int receive_batch(int fd, size_t n, rtnetlink_message_fn *on_answer, void *userdata)
{
    _Alignas(struct nlmsghdr) char buffer[32768];

    while (n > 0) {
        ssize_t n_bytes = recv(fd, buffer, sizeof(buffer), 0);
        int left = (int)n_bytes;

        if (n_bytes < 0 && errno == EINTR)
            continue;
        if (n_bytes < 0)
            return -errno;
        for (struct nlmsghdr *message = (void *)buffer; n > 0 && nlmsg_ok(message, left);
             message = nlmsg_next(message, &left), n--)
            on_answer(userdata, message);
    }
    return 0;
}

int rtnetlink_ask_each(size_t n, rtnetlink_request_fn *request, rtnetlink_message_fn *on_answer,
                       void *userdata)
{
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    int r = fd < 0 ? -errno : 0;

    for (size_t i = 0; r == 0 && i < n; i += BATCH) {
        size_t n_batch = n - i < BATCH ? n - i : BATCH;

        r = send_batch(fd, i, n_batch, request, userdata);
        if (r == 0)
            r = receive_batch(fd, n_batch, on_answer, userdata);
    }
    if (fd >= 0)
        close(fd);
    return r;
}
