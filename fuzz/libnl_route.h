/* SPDX-License-Identifier: MIT */
/* Reads a route message by libnl-route 3.7, unless libnl would misread it or never return. */
#ifndef RIPTIDE_FUZZ_LIBNL_ROUTE_H
#define RIPTIDE_FUZZ_LIBNL_ROUTE_H

#include "apply/routes/route.h"

#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <netlink/route/route.h>
#include <stdbool.h>

/* An attribute that occurs twice is ambiguous: readers use the first, the last or both. */
static inline bool has_twice(const struct nlattr *attribute, int remaining)
{
    bool has[1 << 14] = { false }; /* of NLA_TYPE_MASK */

    for (; nla_ok(attribute, remaining); attribute = nla_next(attribute, &remaining)) {
        if (has[nla_type(attribute)] || (nla_type(attribute) == RTA_METRICS &&
                                         has_twice(nla_data(attribute), nla_len(attribute))))
            return true;
        has[nla_type(attribute)] = true;
    }
    return false;
}

/* libnl subtracts two from the length of an RTA_VIA, without checking that it is at least two. */
static inline bool libnl_route_can_read_via(const void *attributes, int remaining)
{
    const struct nlattr *attribute;

    nla_for_each_attr(attribute, attributes, remaining, remaining)
    {
        if (nla_type(attribute) == RTA_VIA && nla_len(attribute) < (int)sizeof(struct rtvia))
            return false;
    }
    return true;
}

/* NULL: libnl cannot read the message, or it is ambiguous. Free it by rtnl_route_put. */
static inline struct rtnl_route *libnl_route_read(const struct nlmsghdr *message)
{
    const struct nlattr *attribute = nlmsg_attrdata(message, sizeof(struct rtmsg));
    int remaining = nlmsg_attrlen(message, sizeof(struct rtmsg));
    struct rtnl_route *route;

    if (has_twice(attribute, remaining) || !libnl_route_can_read_via(attribute, remaining))
        return NULL;
    /* libnl loops forever at a hop of length 0, or at a last one without its padding. */
    if (nlmsg_find_attr((struct nlmsghdr *)message, sizeof(struct rtmsg), RTA_MULTIPATH))
        return NULL;
    return rtnl_route_parse((struct nlmsghdr *)message, &route) == 0 ? route : NULL;
}

#endif
