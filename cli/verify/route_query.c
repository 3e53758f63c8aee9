/* SPDX-License-Identifier: MIT */
/* The route query of lib/apply, with the connection's own source, ports, user and device. */
#include "judge.h"

#include "lib/apply/routes/route.h"
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
    struct nlmsghdr *request = message_route_query(room, &probe->peer, true);
    struct rtmsg *header = mnl_nlmsg_get_payload(request);

    if (probe->source.family) {
        header->rtm_src_len = probe->source.len;
        mnl_attr_put(request, RTA_SRC, probe->source.len / 8u, probe->source.addr);
    }
    if (probe->mark)
        mnl_attr_put_u32(request, RTA_MARK, probe->mark);
    put_port(request, RTA_SPORT, probe->source_port);
    put_port(request, RTA_DPORT, probe->peer_port);
    mnl_attr_put_u32(request, RTA_UID, uid);
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
        .initcwnd = route.metrics.of[RTAX_INITCWND],
        .ifindex = route.ifindex,
    };
}
