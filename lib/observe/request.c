/* SPDX-License-Identifier: MIT */
/*
 * Requests for dumps; see request.h.
 */
#include "observe/request.h"

#include <linux/inet_diag.h>
#include <linux/rtnetlink.h>
#include <string.h>

int request_local(struct channel *channel, uint8_t family)
{
    _Alignas(struct nlmsghdr) unsigned char buffer[128];
    struct nlmsghdr *request = channel_prepare(buffer, RTM_GETROUTE);
    struct rtmsg *route = channel_put(request, sizeof(*route));

    route->rtm_family = family;
    route->rtm_table = RT_TABLE_LOCAL;
    route->rtm_type = RTN_LOCAL;
    return channel_send(channel, request, NULL, 0);
}

/*
 * Both families at once, as the older of the two requests does and SOCK_DIAG_BY_FAMILY cannot: the
 * walk over all sockets of the host is most of what a dump with a filter costs.
 */
int request_sockets(struct channel *channel, const struct filter *filter, bool congestion_control,
                    uint32_t states)
{
    _Alignas(struct nlmsghdr) unsigned char buffer[128];
    struct nlmsghdr *request = channel_prepare(buffer, TCPDIAG_GETSOCK);
    struct inet_diag_req *diag = channel_put(request, sizeof(*diag));
    struct nlattr attribute = { .nla_type = INET_DIAG_REQ_BYTECODE };
    size_t n_bytes;
    const void *code = filter_get(filter, &n_bytes);

    diag->idiag_states = states;
    diag->idiag_ext = 1 << (INET_DIAG_INFO - 1);
    if (congestion_control)
        diag->idiag_ext |= 1 << (INET_DIAG_CONG - 1);
    if (n_bytes > 0) {
        attribute.nla_len = (uint16_t)(sizeof(attribute) + n_bytes);
        memcpy((char *)buffer + request->nlmsg_len, &attribute, sizeof(attribute));
        request->nlmsg_len += (uint32_t)sizeof(attribute);
    }
    return channel_send(channel, request, code, n_bytes);
}
