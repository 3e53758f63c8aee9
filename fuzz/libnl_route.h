/*
 * A route message read by libnl-route, where that comes back from it.
 */
#ifndef RIPTIDE_FUZZ_LIBNL_ROUTE_H
#define RIPTIDE_FUZZ_LIBNL_ROUTE_H

#include "apply/attrs.h"

#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <netlink/route/route.h>
#include <stdbool.h>

/* libnl-route 3.7 walks on for ever from a hop of length 0, or a last one without its padding. */
static inline bool libnl_route_can_read(const struct nlattr *multipath)
{
    const struct rtnexthop *hop = nla_data(multipath);
    int left = nla_len(multipath);

    while (hop_is_whole(hop, left)) {
        left -= (int)NLMSG_ALIGN(hop->rtnh_len);
        hop = RTNH_NEXT(hop);
    }
    return left == 0;
}

/* NULL: it makes nothing of it. To be given to rtnl_route_put. */
static inline struct rtnl_route *libnl_route_read(const struct nlmsghdr *message)
{
    const struct nlattr *attribute;
    struct rtnl_route *route;
    int remaining;

    nlmsg_for_each_attr(attribute, message, sizeof(struct rtmsg), remaining)
    {
        if (nla_type(attribute) == RTA_MULTIPATH && !libnl_route_can_read(attribute))
            return NULL;
    }
    return rtnl_route_parse((struct nlmsghdr *)message, &route) == 0 ? route : NULL;
}

#endif
