/* SPDX-License-Identifier: MIT */
/* Decides which routes are copied, and which of their attributes. */
#include "base.h"

#include "prefix.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

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
    if (route->metrics.mtu_bytes > ROUTE_MAX_MTU_BYTES)
        return "its base route has a larger mtu than can be given to another";
    /* The owner locked a metric that we would set: left alone. */
    if (route->metrics.locks & (1u << RTAX_INITCWND | 1u << RTAX_INITRWND))
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
    return NULL;
}

/* What does not describe the way, or is written as we want it. */
static const uint32_t not_copied = 1u << RTA_DST | 1u << RTA_TABLE | 1u << RTA_PRIORITY |
                                   1u << RTA_CACHEINFO | 1u << RTA_EXPIRES | 1u << RTA_NH_ID;

static bool copy_attributes(struct base *base, struct netlink_attrs attrs)
{
    const struct nlattr *attribute;

    while ((attribute = netlink_next(&attrs))) {
        uint16_t type = mnl_attr_get_type(attribute);

        if (type < 32 && not_copied >> type & 1)
            continue;
        if ((size_t)NLA_ALIGN(attribute->nla_len) > sizeof(base->attrs) - base->n_bytes)
            return false;
        memcpy(base->attrs + base->n_bytes, attribute, attribute->nla_len);
        base->n_bytes += (uint32_t)NLA_ALIGN(attribute->nla_len);
    }
    return true;
}

bool base_parse(struct base *base, const struct riptide_prefix *dst, const struct nlmsghdr *answer,
                const char **reasonp)
{
    struct route *route = &base->route;
    const char *reason;

    /* Clears padding as well, as base_equal compares bytes. */
    memset(base, 0, sizeof(*base));
    if (answer->nlmsg_type == NLMSG_ERROR)
        reason = error_reason(answer);
    else if (answer->nlmsg_type != RTM_NEWROUTE || route_parse(route, answer) < 0)
        reason = base_malformed;
    else
        reason = route_reason(route, dst);
    if (!reason && !copy_attributes(base, netlink_attrs(answer, sizeof(struct rtmsg))))
        reason = "its base route has more attributes than fit";
    if (route->expires_s != ROUTE_NEVER_S)
        route->expires_s = 0;
    route->protocol = 0;
    route->is_cached = route->has_object = false;
    *reasonp = reason;
    return reason == NULL;
}

struct netlink_attrs base_attrs(const struct base *base)
{
    return (struct netlink_attrs){ (const struct nlattr *)base->attrs, (int)base->n_bytes };
}

/* Without the unused part of attrs. */
static size_t base_bytes(const struct base *base)
{
    return offsetof(struct base, attrs) + base->n_bytes;
}

bool base_equal(const struct base *a, const struct base *b)
{
    return base_bytes(a) == base_bytes(b) && memcmp(a, b, base_bytes(a)) == 0;
}

struct base *base_copy(const struct base *base)
{
    struct base *copy = malloc(base_bytes(base));

    return copy ? memcpy(copy, base, base_bytes(base)) : NULL;
}
