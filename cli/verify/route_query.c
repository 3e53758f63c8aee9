/* SPDX-License-Identifier: MIT */
/*
 * RTM_GETROUTE with the connection's own addresses, ports, mark, user and device.
 */
#include "judge.h"

#include "lib/apply/route.h"
#include "lib/netlink.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>

static void put_port(struct nlmsghdr *request, uint16_t type, uint16_t port)
{
    uint16_t bytes = htons(port);

    if (port)
        netlink_put(request, type, &bytes, sizeof(bytes));
}

struct nlmsghdr *route_query_put(void *room, const struct probe *probe, uint32_t uid,
                                 uint32_t ifindex)
{
    const struct rtmsg header = {
        .rtm_family = probe->peer.family,
        .rtm_dst_len = probe->peer.len,
        .rtm_src_len = probe->source.len,
        /* The route itself, and the table that it is from: IPv6 refuses to be asked for that. */
        .rtm_flags =
            RTM_F_FIB_MATCH | (probe->peer.family == AF_INET ? (uint32_t)RTM_F_LOOKUP_TABLE : 0),
    };
    struct nlmsghdr *request = netlink_begin(room, RTM_GETROUTE, 0, &header, sizeof(header));
    const size_t n = probe->peer.family == AF_INET ? 4 : 16;
    const uint8_t ip_protocol = IPPROTO_TCP;

    mnl_attr_put(request, RTA_DST, n, probe->peer.addr);
    if (probe->source.family)
        mnl_attr_put(request, RTA_SRC, n, probe->source.addr);
    netlink_put(request, RTA_IP_PROTO, &ip_protocol, sizeof(ip_protocol));
    put_port(request, RTA_SPORT, probe->source_port);
    put_port(request, RTA_DPORT, probe->peer_port);
    mnl_attr_put_u32(request, RTA_UID, uid);
    if (probe->mark)
        mnl_attr_put_u32(request, RTA_MARK, probe->mark);
    if (ifindex)
        mnl_attr_put_u32(request, RTA_OIF, ifindex);
    return request;
}

void route_query_read(const struct nlmsghdr *message, struct route_answer *answer)
{
    const struct nlmsgerr *error = mnl_nlmsg_get_payload(message);
    struct route route;

    *answer = (struct route_answer){ .error = -EBADMSG };
    if (message->nlmsg_type == NLMSG_ERROR && netlink_has_header(message, sizeof(*error)) &&
        error->error < 0)
        answer->error = error->error;
    if (message->nlmsg_type != RTM_NEWROUTE || route_parse(&route, message) < 0)
        return;
    *answer = (struct route_answer){
        .match = route.dst,
        .table = route.table,
        .protocol = route.protocol,
        .initcwnd = route.metrics.initcwnd,
        .ifindex = route.ifindex,
    };
}
