/* SPDX-License-Identifier: MIT */
/*
 * A socket for one question. What messages mean is the asker's.
 */
#include "rtnetlink.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ONGOING = 1 };

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
