/* SPDX-License-Identifier: MIT */
/*
 * The kernel's answer to a route query, taken apart attribute by attribute. Which of them stay with
 * the route, which make its next hop, and which are ours to set is decided here alone.
 */
#include "base.h"

#include "netlink.h"
#include "prefix.h"
#include "route.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

static const char *const no_room = "its base route has more attributes than fit";
const char *const base_malformed = "the kernel's answer makes no sense";
const char *const base_ending = "its base route is about to expire";

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

/* The metrics that are ours to set or to raise are kept apart from those that are only copied. */
static uint32_t *metric_of(struct base *base, int type)
{
    switch (type) {
    case RTAX_INITCWND:
        return &base->initcwnd;
    case RTAX_INITRWND:
        return &base->initrwnd;
    case RTAX_MTU:
        return &base->mtu_bytes;
    case RTAX_RTO_MIN:
        return &base->rto_min_ms;
    case RTAX_LOCK:
        return &base->locks;
    default:
        return NULL;
    }
}

static const char *metrics_parse(struct base *base, struct attrs *copied,
                                 const struct nlattr *metrics)
{
    struct netlink_attrs attrs = netlink_nested(metrics);
    const struct nlattr *metric;

    while ((metric = netlink_next(&attrs))) {
        uint32_t *value = metric_of(base, mnl_attr_get_type(metric));

        if (value && !netlink_u32(metric, value))
            return base_malformed;
        if (!value && !attrs_add(copied, metric))
            return no_room;
    }
    if (attrs.left != 0)
        return base_malformed;
    /* IPv6 gives the MTU of a link that grows to routes which had the link's (rt6_mtu_change). */
    if (base->mtu_bytes > ROUTE_MAX_MTU_BYTES)
        return "its base route has a larger mtu than can be given to another";
    /* Somebody locked what we would set: that is an owner's decision. */
    return base->locks & (1u << RTAX_INITCWND | 1u << RTAX_INITRWND)
               ? "its base route locks initcwnd or initrwnd"
               : NULL;
}

/* Flags of the moment (dead, linkdown, offload) are the kernel's to set, and no difference. */
static const char *multipath_parse(struct base *base, const struct nlattr *multipath)
{
    struct nlattr *copy = (struct nlattr *)(base->attrs.bytes + base->attrs.n_bytes);
    int remaining = mnl_attr_get_payload_len(multipath);
    struct rtnexthop *hop;

    if (!attrs_add(&base->attrs, multipath))
        return no_room;
    for (hop = mnl_attr_get_payload(copy); hop_is_whole(hop, remaining); hop = RTNH_NEXT(hop)) {
        hop->rtnh_flags &= RTNH_F_ONLINK;
        remaining -= (int)NLMSG_ALIGN(hop->rtnh_len);
    }
    return remaining > 0 ? base_malformed : NULL;
}

/* What else an answer has. */
struct rest {
    struct attrs metrics;
    bool has_object; /* its hop is somebody's next-hop object */
    bool has_hop;    /* gateway, device or encapsulation of its own */
};

static const char *attribute_parse(struct base *base, struct rest *rest,
                                   const struct nlattr *attribute)
{
    switch (mnl_attr_get_type(attribute)) {
    case RTA_DST:
    case RTA_TABLE:
    case RTA_CACHEINFO:
        return NULL;  /* route_parse has them */
    case RTA_EXPIRES: /* not how the kernel tells it */
        return NULL;
    case RTA_PRIORITY:
        return netlink_u32(attribute, &base->priority) ? NULL : base_malformed;
    case RTA_METRICS:
        return metrics_parse(base, &rest->metrics, attribute);
    case RTA_NH_ID:
        rest->has_object = true;
        return NULL;
    case RTA_GATEWAY:
    case RTA_VIA:
    case RTA_OIF:
    case RTA_ENCAP:
    case RTA_ENCAP_TYPE:
        rest->has_hop = true;
        return attrs_add(&base->attrs, attribute) ? NULL : no_room;
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
 * window to everything else behind the object. So the hop is carried over, the object is not.
 */
static const char *object_reason(const struct base *base, const struct rest *rest)
{
    if (!rest->has_object)
        return NULL;
    if (base->is_multipath)
        return "its base route leads through a next-hop group";
    return rest->has_hop ? NULL : "the kernel does not show the hop of its next-hop object";
}

/*
 * The kernel lists the siblings of an IPv6 multipath route from the one that this query took, and
 * with that one's preference and expiry: a copy would send flows another way.
 */
static const char *multipath_reason(const struct base *base)
{
    return base->is_multipath && base->match.family == AF_INET6
               ? "its base route is made of several IPv6 routes"
               : NULL;
}

/* Of a prefix the kernel was asked for one address in it. */
static const char *local_reason(const struct route *route, const struct riptide_prefix *dst)
{
    if (!riptide_prefix_contains(&route->dst, dst))
        return "an address of this host lies in it";
    return dst->len == prefix_family_bits(dst->family) ? "it is an address of this host"
                                                       : "its addresses are this host's own";
}

static const char *route_reason(const struct route *route, const struct riptide_prefix *dst)
{
    if (!riptide_prefix_contains(&route->dst, dst) && !riptide_prefix_contains(dst, &route->dst))
        return base_malformed; /* an answer for another destination */
    if (route->type == RTN_LOCAL)
        return local_reason(route, dst);
    if (route->type != RTN_UNICAST)
        return "its base route is not unicast";
    if (route->table != RT_TABLE_MAIN)
        return "a rule sends it to another table than main";
    if (route->tos != 0 || route->src_len != 0)
        return "its base route depends on tos or source";
    if (!riptide_prefix_contains(&route->dst, dst))
        return "main has more specific routes inside it";
    return NULL;
}

bool base_parse(struct base *base, const struct riptide_prefix *dst, const struct nlmsghdr *answer,
                uint32_t least_life_s, const char **reasonp)
{
    const struct nlattr *attribute;
    struct netlink_attrs attrs;
    struct rest rest = { 0 };
    const struct rtmsg *rtm;
    struct route route;

    if (answer->nlmsg_type == NLMSG_ERROR)
        *reasonp = error_reason(answer);
    else if (answer->nlmsg_type != RTM_NEWROUTE || route_parse(&route, answer) < 0)
        *reasonp = base_malformed;
    else
        *reasonp = route_reason(&route, dst);
    if (*reasonp)
        return false;

    /* Padding too: base_equal compares bytes. */
    memset(base, 0, sizeof(*base));
    rtm = mnl_nlmsg_get_payload(answer);
    base->match = route.dst;
    base->scope = rtm->rtm_scope;
    base->is_onlink = rtm->rtm_flags & RTNH_F_ONLINK;
    base->has_expiry = route.expires_s != ROUTE_NEVER_S;
    base->gateway = route.gateway;
    base->prefsrc = route.prefsrc;
    base->ifindex = route.ifindex;
    attrs = netlink_attrs(answer, sizeof(*rtm));
    while ((attribute = netlink_next(&attrs))) {
        *reasonp = attribute_parse(base, &rest, attribute);
        if (*reasonp)
            return false;
    }
    base->metrics_bytes = rest.metrics.n_bytes;
    if (!attrs_append(&base->attrs, &rest.metrics))
        *reasonp = no_room;
    else if (route.expires_s < least_life_s)
        *reasonp = base_ending;
    else
        *reasonp = object_reason(base, &rest);
    if (!*reasonp)
        *reasonp = multipath_reason(base);
    return *reasonp == NULL;
}

size_t base_bytes(const struct base *base)
{
    return offsetof(struct base, attrs.bytes) + base->attrs.n_bytes;
}

bool base_equal(const struct base *a, const struct base *b)
{
    return base_bytes(a) == base_bytes(b) && memcmp(a, b, base_bytes(a)) == 0;
}
