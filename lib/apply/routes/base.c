/* SPDX-License-Identifier: MIT */
/* Decides which routes are copied. */
#include "base.h"

#include "prefix.h"

#include <errno.h>

/* Ours has no lifetime: in the time in which all are asked again, and before it ends, it goes. */
enum { LEAST_LIFE_S = 90 };

const char *const base_malformed = "the kernel's answer is malformed";

bool base_is_answer(int error)
{
    return error == -ENETUNREACH || error == -EINVAL || error == -EHOSTUNREACH || error == -EACCES;
}

static const char *error_reason(const struct nlmsghdr *answer)
{
    const struct nlmsgerr *error = mnl_nlmsg_get_payload(answer);

    if (!netlink_has_header(answer, sizeof(*error)))
        return base_malformed;
    if (!base_is_answer(error->error))
        return "the kernel refused the route query";
    return error->error == -ENETUNREACH ? "there is no route to it"
                                        : "its base route is blackhole, unreachable or prohibit";
}

/* Why it is not copied; NULL: it is. */
static const char *route_reason(const struct route *route, const struct riptide_prefix *dst)
{
    if (!riptide_prefix_contains(&route->dst, dst))
        return base_malformed; /* an answer for another destination */
    if (route->type == RTN_LOCAL)
        return "it is an address of this host";
    if (route->type != RTN_UNICAST)
        return "its base route is not unicast";
    if (route->table != RT_TABLE_MAIN)
        return "a rule sends it to another table than main";
    if (route->tos != 0 || route->src_len != 0)
        return "its base route depends on tos or source";
    if (route->expires_s < LEAST_LIFE_S)
        return "its base route is about to expire";
    /* When the MTU of a link grows, IPv6 updates routes that had the link's (rt6_mtu_change). */
    if (route->metrics.of[RTAX_MTU] > ROUTE_MAX_MTU_BYTES)
        return "its base route has a larger mtu than can be given to another";
    /* The owner locked a metric that we would set: left alone. */
    if (route->metrics.of[RTAX_LOCK] & (1u << RTAX_INITCWND | 1u << RTAX_INITRWND))
        return "its base route locks initcwnd or initrwnd";
    /*
     * The kernel distributes flows by the state of links when one of them last changed, which no
     * answer shows, and lists the single routes that make up an IPv6 one from that which this query
     * selected: a copy would distribute them in another way.
     */
    if (route->is_multipath)
        return "its base route has several next hops";
    /*
     * Routes of one next-hop object share the cached route of a connection, metrics included
     * (rt_cache_route in net/ipv4/route.c, rt6_get_pcpu_route in net/ipv6/route.c): ours would give
     * its window to all other routes of the object. So the hop is copied, not the object.
     */
    if (route->has_object && !route->ifindex && !route->gateway.family)
        return "the kernel does not show the hop of its next-hop object";
    if (route->has_others)
        return "its base route has an attribute that is not copied";
    return NULL;
}

const char *base_parse(struct route *base, const struct riptide_prefix *dst,
                       const struct nlmsghdr *answer)
{
    const char *reason;

    if (answer->nlmsg_type == NLMSG_ERROR)
        return error_reason(answer);
    if (answer->nlmsg_type != RTM_NEWROUTE || route_parse(base, answer) < 0)
        return base_malformed;
    reason = route_reason(base, dst);
    base->expires_s = 0;
    base->protocol = 0;
    base->is_cached = base->has_object = false;
    return reason;
}
