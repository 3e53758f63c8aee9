/*
 * One netlink socket that asks for dumps. See channel.h.
 */
#include "observe/channel.h"

#include <errno.h>
#include <riptide/riptide.h>
#include <string.h>
#include <sys/socket.h>

int channel_open(struct channel *channel, int bus)
{
    int on = 1;

    channel->socket = mnl_socket_open2(bus, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (!channel->socket)
        return -errno;
    if (mnl_socket_bind(channel->socket, 0, MNL_SOCKET_AUTOPID) < 0) {
        int error = -errno;

        channel_close(channel);
        return error;
    }
    channel->portid = mnl_socket_get_portid(channel->socket);
    /* Without it filters of route dumps are ignored. It came with 4.20; we filter again ourselves,
     * so that where it is missing the dump is only longer. */
    mnl_socket_setsockopt(channel->socket, NETLINK_GET_STRICT_CHK, &on, sizeof(on));
    /* Errors without the request that they are about: that may be longer than our buffer. */
    mnl_socket_setsockopt(channel->socket, NETLINK_CAP_ACK, &on, sizeof(on));
    return 0;
}

void channel_close(struct channel *channel)
{
    if (channel->socket)
        mnl_socket_close(channel->socket);
    channel->socket = NULL;
}

struct nlmsghdr *channel_prepare(void *buffer, uint16_t type)
{
    struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);

    request->nlmsg_type = type;
    request->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    return request;
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
    channel->refused = false;
    return sendmsg(mnl_socket_get_fd(channel->socket), &msg, 0) < 0 ? -errno : 0;
}

void channel_abandon(struct channel *channel)
{
    channel->seq++;
    channel->refused = false;
}

/* Not mnl_socket_recvfrom: it does not tell who sent. */
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
    ssize_t len = recvmsg(mnl_socket_get_fd(channel->socket), &msg, MSG_DONTWAIT);

    if (len < 0) {
        if (errno == EAGAIN || errno == EINTR)
            return RIPTIDE_E_AGAIN;
        return -errno;
    }
    if (msg.msg_namelen != sizeof(from) || from.nl_family != AF_NETLINK || from.nl_pid != 0)
        return RIPTIDE_E_INVALID;
    if (msg.msg_flags & MSG_TRUNC)
        return -EMSGSIZE;
    *lenp = (size_t)len;
    return 0;
}
