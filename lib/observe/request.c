/* SPDX-License-Identifier: MIT */
/*
 * Requests for dumps; see request.h.
 */
#include "observe/request.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

/*
 * Sends the request with the n bytes of `tail` behind it, a multiple of four that its length does
 * not count yet.
 */
static int send_request(struct channel *channel, struct nlmsghdr *request, const void *tail,
                        size_t n)
{
    struct iovec parts[] = {
        { .iov_base = request, .iov_len = request->nlmsg_len },
        { .iov_base = (void *)tail, .iov_len = n },
    };
    const struct msghdr msg = { .msg_iov = parts, .msg_iovlen = 2 };

    request->nlmsg_len += (uint32_t)n;
    request->nlmsg_seq = ++channel->seq;
    channel->is_asked = true;
    channel->is_waiting = false;
    return sendmsg(mnl_socket_get_fd(channel->socket), &msg, 0) < 0 ? -errno : 0;
}

void request_abandon(struct channel *channel)
{
    channel->seq++;
    channel->is_asked = false;
    channel->is_waiting = false;
}

int request_local(struct channel *channel, uint8_t family)
{
    const struct rtmsg route = {
        .rtm_family = family,
        .rtm_table = RT_TABLE_LOCAL,
        .rtm_type = RTN_LOCAL,
    };
    _Alignas(struct nlmsghdr) uint8_t room[128];
    struct nlmsghdr *request =
        netlink_begin(room, RTM_GETROUTE, NLM_F_DUMP, &route, sizeof(route));

    return send_request(channel, request, NULL, 0);
}

/*
 * Both families at once, as the older of the two requests does and SOCK_DIAG_BY_FAMILY cannot: the
 * walk over all sockets of the host is most of what a dump with a filter costs.
 */
int request_sockets(struct channel *channel, const struct filter *filter, bool congestion_control,
                    uint32_t states)
{
    struct inet_diag_req diag = {
        .idiag_states = states,
        .idiag_ext = 1 << (INET_DIAG_INFO - 1),
    };
    _Alignas(struct nlmsghdr) uint8_t room[128];
    struct nlmsghdr *request;
    struct nlattr *attr;
    size_t n_bytes;
    const void *code = filter_get(filter, &n_bytes);

    if (congestion_control)
        diag.idiag_ext |= 1 << (INET_DIAG_CONG - 1);
    request = netlink_begin(room, TCPDIAG_GETSOCK, NLM_F_DUMP, &diag, sizeof(diag));
    if (n_bytes > 0) {
        attr = mnl_nlmsg_get_payload_tail(request);
        mnl_attr_put(request, INET_DIAG_REQ_BYTECODE, 0, "");
        attr->nla_len = (uint16_t)(attr->nla_len + n_bytes);
    }
    return send_request(channel, request, code, n_bytes);
}
