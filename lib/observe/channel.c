/* SPDX-License-Identifier: MIT */
/*
 * One netlink socket that asks for dumps. See channel.h.
 */
#include "observe/channel.h"

#include "internal.h"

#include <errno.h>
#include <poll.h>
#include <riptide/riptide.h>
#include <string.h>
#include <sys/socket.h>

/*
 * Connected, we get nothing from anybody but the kernel. Otherwise the root of a container that is
 * looked at could fill our queue.
 */
static int bind_port(struct channel *channel)
{
    struct sockaddr_nl address = { .nl_family = AF_NETLINK };
    socklen_t n_bytes = sizeof(address);

    /* The kernel's port is 0; ours it chooses. */
    if (bind(channel->fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
        connect(channel->fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
        getsockname(channel->fd, (struct sockaddr *)&address, &n_bytes) < 0)
        return -errno;
    channel->portid = address.nl_pid;
    return 0;
}

int channel_open(struct channel *channel, int bus)
{
    int on = 1;
    int r;

    channel->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, bus);
    if (channel->fd < 0)
        return -errno;
    r = bind_port(channel);
    if (r < 0) {
        channel_close(channel);
        return r;
    }
    /* Without it filters of route dumps are ignored. It came with 4.20; we filter again ourselves,
     * so that where it is missing the dump is only longer. */
    setsockopt(channel->fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &on, sizeof(on));
    /* Errors without the request that they are about: that may be longer than our buffer. */
    setsockopt(channel->fd, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on));
    return 0;
}

void channel_close(struct channel *channel)
{
    closep(&channel->fd);
    channel->fd = -1;
}

struct nlmsghdr *channel_prepare(void *buffer, uint16_t type)
{
    struct nlmsghdr *request = buffer;

    *request = (struct nlmsghdr){
        .nlmsg_len = NLMSG_HDRLEN,
        .nlmsg_type = type,
        .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
    };
    return request;
}

void *channel_put(struct nlmsghdr *request, size_t n_bytes)
{
    char *header = (char *)request + request->nlmsg_len;

    memset(header, 0, NLMSG_ALIGN(n_bytes));
    request->nlmsg_len += (uint32_t)NLMSG_ALIGN(n_bytes);
    return header;
}

int channel_send(struct channel *channel, struct nlmsghdr *request, const void *tail, size_t n)
{
    struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
    struct iovec parts[] = {
        { .iov_base = request, .iov_len = request->nlmsg_len },
        { .iov_base = (void *)tail, .iov_len = n },
    };
    struct msghdr msg = {
        .msg_name = &kernel,
        .msg_namelen = sizeof(kernel),
        .msg_iov = parts,
        .msg_iovlen = 2,
    };

    request->nlmsg_len += (uint32_t)n;
    request->nlmsg_seq = ++channel->seq;
    channel->is_asked = true;
    channel->is_waiting = false;
    return sendmsg(channel->fd, &msg, 0) < 0 ? -errno : 0;
}

bool channel_is_empty(const struct channel *channel)
{
    struct pollfd fd = { .fd = channel->fd, .events = POLLIN };

    return poll(&fd, 1, 0) == 0;
}

void channel_abandon(struct channel *channel)
{
    channel->seq++;
    channel->is_asked = false;
    channel->is_waiting = false;
}

int channel_receive(const struct channel *channel, void *buffer, size_t size, size_t *lenp)
{
    struct sockaddr_nl from = { 0 };
    struct iovec iov = { .iov_base = buffer, .iov_len = size };
    struct msghdr msg = {
        .msg_name = &from,
        .msg_namelen = sizeof(from),
        .msg_iov = &iov,
        .msg_iovlen = 1,
    };
    ssize_t len;

    do
        len = recvmsg(channel->fd, &msg, MSG_DONTWAIT);
    while (len < 0 && errno == EINTR);
    if (len < 0)
        return errno == EAGAIN ? RIPTIDE_E_AGAIN : -errno;
    if (msg.msg_namelen != sizeof(from) || from.nl_family != AF_NETLINK || from.nl_pid != 0)
        return RIPTIDE_E_INVALID;
    if (msg.msg_flags & MSG_TRUNC)
        return -EMSGSIZE;
    *lenp = (size_t)len;
    return 0;
}
