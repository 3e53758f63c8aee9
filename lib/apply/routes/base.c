/* SPDX-License-Identifier: MIT */
/*
 * Parses the kernel's answer to a route query, attribute by attribute, and decides which of them
 * are copied, which describe the next hop, and which we set.
 */
#include "base.h"

#include "prefix.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Ours has no lifetime: in the time in which all are asked again, and before it ends, it goes. */
enum { LEAST_LIFE_S = 90 };

static const char *const no_room = "its base route has more attributes than fit";
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

/* Copies the metrics that we do not set. */
static const char *metrics_copy(struct attrs *copied, const struct nlattr *metrics)
{
    struct netlink_attrs attrs = netlink_nested(metrics);
    const struct nlattr *metric;
    struct metrics own;

    while ((metric = netlink_next(&attrs))) {
        if (!metrics_at(&own, mnl_attr_get_type(metric)) && !attrs_add(copied, metric))
            return no_room;
    }
    return NULL;
}

static const char *metrics_reason(const struct metrics *metrics)
{
    /* When the MTU of a link grows, IPv6 updates routes that had the link's (rt6_mtu_change). */
    if (metrics->mtu_bytes > ROUTE_MAX_MTU_BYTES)
        return "its base route has a larger mtu than can be given to another";
    /* The owner locked a metric that we would set: left alone. */
    return metrics->locks & (1u << RTAX_INITCWND | 1u << RTAX_INITRWND)
               ? "its base route locks initcwnd or initrwnd"
               : NULL;
}

/*
 * Flags that show a hop's present state are not copied. But a route with a hop that is down is left
 * alone: the kernel distributes flows over hops by the state of links at the last change of one of
 * them, which no answer shows, and would distribute those of a copy written now in another way.
 */
static const char *multipath_parse(struct base *base, const struct nlattr *multipath)
{
    struct hops hops = hops_of((struct nlattr *)(base->attrs.bytes + base->attrs.n_bytes));
    struct rtnexthop *hop;

    if (!attrs_add(&base->attrs, multipath))
        return no_room;
    hops.left = mnl_attr_get_payload_len(multipath);
    while ((hop = hops_next(&hops))) {
        if (hop->rtnh_flags & (RTNH_F_DEAD | RTNH_F_LINKDOWN))
            return "a hop of its base route is down";
        hop->rtnh_flags &= RTNH_F_ONLINK;
    }
    return hops.left > 0 ? base_malformed : NULL;
}

static const char *attribute_copy(struct base *base, struct attrs *metrics,
                                  const struct nlattr *attribute)
{
    switch (mnl_attr_get_type(attribute)) {
    case RTA_DST:
    case RTA_TABLE:
    case RTA_PRIORITY:
    case RTA_CACHEINFO:
    case RTA_EXPIRES: /* for requests: the kernel's answers have RTA_CACHEINFO */
    case RTA_NH_ID:
        return NULL;
    case RTA_METRICS:
        return metrics_copy(metrics, attribute);
    case RTA_MULTIPATH:
        base->is_multipath = true;
        return multipath_parse(base, attribute);
    default:
        return attrs_add(&base->attrs, attribute) ? NULL : no_room;
    }
}

/*
 * Routes of one next-hop object share the cached route of a connection, metrics included
 * (rt_cache_route in net/ipv4/route.c, rt6_get_pcpu_route in net/ipv6/route.c): ours would give its
 * window to all other routes of the object. So the hop is copied, not the object.
 */
static const char *object_reason(const struct base *base)
{
    if (base->is_multipath)
        return "its base route leads through a next-hop group";
    return base->route.ifindex || base->route.gateway.family
               ? NULL
               : "the kernel does not show the hop of its next-hop object";
}

/*
 * The kernel lists the siblings of an IPv6 multipath route from the one that this query selected,
 * with that one's preference and expiry: a copy would distribute flows in another way.
 */
static const char *multipath_reason(const struct base *base)
{
    return base->is_multipath && base->route.dst.family == AF_INET6
               ? "its base route is made of several IPv6 routes"
               : NULL;
}

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
    return NULL;
}

static const char *answer_reason(struct route *route, const struct riptide_prefix *dst,
                                 const struct nlmsghdr *answer)
{
    if (answer->nlmsg_type == NLMSG_ERROR)
        return error_reason(answer);
    if (answer->nlmsg_type != RTM_NEWROUTE || route_parse(route, answer) < 0)
        return base_malformed;
    return route_reason(route, dst);
}

bool base_parse(struct base *base, const struct riptide_prefix *dst, const struct nlmsghdr *answer,
                const char **reasonp)
{
    struct attrs metrics = { .n_bytes = 0 };
    const struct nlattr *attribute;
    struct netlink_attrs attrs;
    uint32_t life_s;
    bool has_object;

    /* Clears padding as well, as base_equal compares bytes. */
    memset(base, 0, sizeof(*base));
    *reasonp = answer_reason(&base->route, dst, answer);
    if (!*reasonp)
        *reasonp = metrics_reason(&base->route.metrics);
    if (*reasonp)
        return false;
    life_s = base->route.expires_s;
    if (life_s != ROUTE_NEVER_S)
        base->route.expires_s = 0;
    base->route.protocol = 0;
    base->route.is_cached = false;
    attrs = netlink_attrs(answer, sizeof(struct rtmsg));
    has_object = netlink_find(attrs, RTA_NH_ID);
    while (!*reasonp && (attribute = netlink_next(&attrs)))
        *reasonp = attribute_copy(base, &metrics, attribute);
    if (*reasonp)
        return false;
    base->metrics_bytes = metrics.n_bytes;
    if (metrics.n_bytes > sizeof(base->attrs.bytes) - base->attrs.n_bytes) {
        *reasonp = no_room;
        return false;
    }
    memcpy(base->attrs.bytes + base->attrs.n_bytes, metrics.bytes, metrics.n_bytes);
    base->attrs.n_bytes += metrics.n_bytes;
    if (life_s < LEAST_LIFE_S)
        *reasonp = "its base route is about to expire";
    else if (has_object)
        *reasonp = object_reason(base);
    if (!*reasonp)
        *reasonp = multipath_reason(base);
    return *reasonp == NULL;
}

/* Without the unused part of attrs. */
static size_t base_bytes(const struct base *base)
{
    return offsetof(struct base, attrs.bytes) + base->attrs.n_bytes;
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
