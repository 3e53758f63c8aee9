/* SPDX-License-Identifier: MIT */
/*
 * Requests put together with libnl. Every one is small; only a route that carries many hops over
 * comes near the size that is allocated.
 */
#include "message.h"

#include "channel.h"
#include "internal.h"
#include "prefix.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <string.h>

static void message_freep(struct nl_msg **messagep)
{
    nlmsg_free(*messagep);
}

/* Room for header and attributes of any request but a route that carries others over. */
enum { SMALL_BYTES = 256 };

static struct nl_msg *message_new(int type, int flags, const void *header, size_t header_bytes)
{
    struct nl_msg *message = nlmsg_alloc_size(SMALL_BYTES + header_bytes);

    if (!message)
        return NULL;
    if (!nlmsg_put(message, NL_AUTO_PORT, NL_AUTO_SEQ, type, 0, flags | NLM_F_REQUEST) ||
        nlmsg_append(message, (void *)header, header_bytes, NLMSG_ALIGNTO) < 0) {
        nlmsg_free(message);
        return NULL;
    }
    return message;
}

/* Hands the message over if all puts went well. */
static struct nl_msg *message_finish(struct nl_msg **messagep, int failures)
{
    struct nl_msg *message = *messagep;

    if (failures)
        return NULL;
    *messagep = NULL;
    return message;
}

static int put_address(struct nl_msg *message, int type, const struct riptide_prefix *address)
{
    return nla_put(message, type, prefix_family_bits(address->family) / 8, address->addr);
}

static struct nl_msg *query(const struct riptide_prefix *address, uint32_t flags, uint32_t mark,
                            uint8_t ip_protocol)
{
    const struct rtmsg rtm = {
        .rtm_family = address->family,
        .rtm_dst_len = prefix_family_bits(address->family),
        /* IPv6 always tells the table, and refuses to be asked for it. */
        .rtm_flags = flags | (address->family == AF_INET ? (uint32_t)RTM_F_LOOKUP_TABLE : 0),
    };
    CLEANUP(message_freep)
    struct nl_msg *message = message_new(RTM_GETROUTE, 0, &rtm, sizeof(rtm));
    int failures;

    if (!message)
        return NULL;
    failures = put_address(message, RTA_DST, address);
    if (mark)
        failures |= nla_put_u32(message, RTA_MARK, mark);
    if (ip_protocol)
        failures |= nla_put_u8(message, RTA_IP_PROTO, ip_protocol);
    return message_finish(&message, failures);
}

struct nl_msg *message_route_query(const struct riptide_prefix *address, uint32_t mark,
                                   uint8_t ip_protocol)
{
    return query(address, RTM_F_FIB_MATCH, mark, ip_protocol);
}

struct nl_msg *message_path_query(const struct riptide_prefix *address, uint32_t mark,
                                  uint8_t ip_protocol)
{
    return query(address, 0, mark, ip_protocol);
}

/* One metric as it stands in RTA_METRICS. */
struct metric {
    struct nlattr header;
    uint32_t value;
};

static struct metric metric(uint16_t type, uint32_t value)
{
    return (struct metric){ { .nla_len = sizeof(struct metric), .nla_type = type }, value };
}

uint32_t message_rto_min_ms(const struct base *base, uint32_t rto_min_us)
{
    return rto_min_us ? (rto_min_us - 1) / 1000 + 1 : base->rto_min_ms;
}

/* Put together first and reserved once: this runs for every window of a tick. */
static int put_metrics(struct nl_msg *message, const struct base *base,
                       const struct route_addition *addition)
{
    uint32_t rto_min_ms = message_rto_min_ms(base, addition->rto_min_us);
    /* The kernel heeds rto_min only where it is locked (tcp_rto_min in include/net/tcp.h). */
    uint32_t locks = base->locks | (addition->rto_min_us ? 1u << RTAX_RTO_MIN : 0);
    struct metric metrics[5] = { metric(RTAX_INITCWND, addition->initcwnd) };
    struct nlattr *nest;
    size_t n = 1;

    if (locks)
        metrics[n++] = metric(RTAX_LOCK, locks);
    if (rto_min_ms)
        metrics[n++] = metric(RTAX_RTO_MIN, rto_min_ms);
    if (addition->mtu_bytes)
        metrics[n++] = metric(RTAX_MTU, addition->mtu_bytes);
    if (addition->initrwnd)
        metrics[n++] = metric(RTAX_INITRWND, addition->initrwnd);

    nest = nla_reserve(message, RTA_METRICS, (int)(base->metrics_bytes + n * sizeof(*metrics)));
    if (!nest)
        return -ENOMEM;
    memcpy(nla_data(nest), base->attrs.bytes + base->attrs.n_bytes - base->metrics_bytes,
           base->metrics_bytes);
    memcpy((char *)nla_data(nest) + base->metrics_bytes, metrics, n * sizeof(*metrics));
    return 0;
}

int message_route_begin(struct nl_msg *message, const struct base *base, uint32_t table,
                        uint8_t protocol, uint32_t *begun_bytes)
{
    const struct rtmsg rtm = {
        .rtm_family = base->match.family,
        .rtm_protocol = protocol,
        .rtm_scope = base->scope,
        .rtm_type = RTN_UNICAST,
        .rtm_flags = base->is_onlink ? RTNH_F_ONLINK : 0,
    };
    int failures;

    nlmsg_hdr(message)->nlmsg_len = NLMSG_HDRLEN;
    if (!nlmsg_put(message, NL_AUTO_PORT, NL_AUTO_SEQ, RTM_NEWROUTE, 0,
                   NLM_F_REQUEST | NLM_F_CREATE | NLM_F_REPLACE))
        return -ENOMEM;
    failures = nlmsg_append(message, (void *)&rtm, sizeof(rtm), NLMSG_ALIGNTO);
    /* The first attribute, so that each destination finds its place. */
    failures |= put_address(message, RTA_DST, &base->match);
    failures |= nla_put_u32(message, RTA_TABLE, table);
    if (base->priority)
        failures |= nla_put_u32(message, RTA_PRIORITY, base->priority);
    /* nlmsg_append wants a pointer that it may not write to, and says void *. */
    failures |= nlmsg_append(message, (void *)base->attrs.bytes,
                             base->attrs.n_bytes - base->metrics_bytes, NLMSG_ALIGNTO);
    *begun_bytes = nlmsg_hdr(message)->nlmsg_len;
    return failures ? -ENOMEM : 0;
}

int message_route_put(struct nl_msg *message, uint32_t begun_bytes, const struct base *base,
                      const struct route_addition *addition)
{
    struct nlmsghdr *header = nlmsg_hdr(message);
    struct rtmsg *rtm = nlmsg_data(header);
    struct nlattr *dst = nlmsg_attrdata(header, sizeof(*rtm));
    int failures = 0;

    header->nlmsg_len = begun_bytes;
    rtm->rtm_dst_len = addition->dst.len;
    memcpy(nla_data(dst), addition->dst.addr, (size_t)nla_len(dst));
    if (addition->expires_s)
        failures |= nla_put_u32(message, RTA_EXPIRES, addition->expires_s);
    failures |= put_metrics(message, base, addition);
    return failures ? -ENOMEM : 0;
}

struct nl_msg *message_route_delete(const struct route *route)
{
    /* Scope "nowhere" matches any scope of an IPv4 route. */
    const struct rtmsg rtm = {
        .rtm_family = route->dst.family,
        .rtm_dst_len = route->dst.len,
        .rtm_tos = route->tos,
        .rtm_protocol = route->protocol,
        .rtm_scope = RT_SCOPE_NOWHERE,
    };
    CLEANUP(message_freep)
    struct nl_msg *message = message_new(RTM_DELROUTE, 0, &rtm, sizeof(rtm));
    int failures;

    if (!message)
        return NULL;
    failures = nla_put_u32(message, RTA_TABLE, route->table);
    failures |= put_address(message, RTA_DST, &route->dst);
    if (route->priority)
        failures |= nla_put_u32(message, RTA_PRIORITY, route->priority);
    return message_finish(&message, failures);
}

/* One of our rules, as it is added and deleted. */
static struct nl_msg *rule_message(int type, int flags, uint8_t family,
                                   const struct rule_place *place, enum rule_role role,
                                   const struct rule_identity *identity)
{
    const struct fib_rule_hdr header = { .family = family,
                                         .action =
                                             role == RULE_SKIP ? FR_ACT_GOTO : FR_ACT_TO_TBL };
    CLEANUP(message_freep)
    struct nl_msg *message = message_new(type, flags, &header, sizeof(header));
    int failures;

    if (!message)
        return NULL;
    failures = nla_put_u32(message, FRA_PRIORITY, place->priority);
    failures |= nla_put_u8(message, FRA_PROTOCOL, identity->protocol);
    failures |= nla_put_string(message, FRA_IIFNAME, "lo");
    failures |= nla_put_u8(message, FRA_IP_PROTO, IPPROTO_TCP);
    if (role == RULE_SKIP) {
        failures |= nla_put_u32(message, FRA_GOTO, place->main_priority);
        failures |= nla_put_u32(message, FRA_FWMARK, identity->mark);
        failures |= nla_put_u32(message, FRA_FWMASK, UINT32_MAX);
    } else {
        failures |= nla_put_u32(message, FRA_TABLE, identity->table);
    }
    return message_finish(&message, failures);
}

struct nl_msg *message_rule_add(uint8_t family, const struct rule_place *place, enum rule_role role,
                                const struct rule_identity *identity)
{
    return rule_message(RTM_NEWRULE, NLM_F_CREATE | NLM_F_EXCL, family, place, role, identity);
}

struct nl_msg *message_rule_delete(uint8_t family, const struct rule_place *place,
                                   enum rule_role role, const struct rule_identity *identity)
{
    return rule_message(RTM_DELRULE, 0, family, place, role, identity);
}

struct nl_msg *message_lookup_delete(uint8_t family, uint32_t table)
{
    const struct fib_rule_hdr header = { .family = family, .action = FR_ACT_TO_TBL };
    CLEANUP(message_freep)
    struct nl_msg *message = message_new(RTM_DELRULE, 0, &header, sizeof(header));

    return message ? message_finish(&message, nla_put_u32(message, FRA_TABLE, table)) : NULL;
}

struct nl_msg *message_rule_delete_dumped(const struct nlmsghdr *dumped)
{
    return message_new(RTM_DELRULE, 0, nlmsg_data(dumped), (size_t)nlmsg_datalen(dumped));
}

struct nl_msg *message_rules_dump(uint8_t family)
{
    const struct fib_rule_hdr header = { .family = family };

    return message_new(RTM_GETRULE, NLM_F_DUMP, &header, sizeof(header));
}

static struct nl_msg *table_dump(uint8_t family, uint32_t table, uint32_t flags)
{
    const struct rtmsg rtm = { .rtm_family = family, .rtm_flags = flags };
    CLEANUP(message_freep)
    struct nl_msg *message = message_new(RTM_GETROUTE, NLM_F_DUMP, &rtm, sizeof(rtm));

    if (!message)
        return NULL;
    return message_finish(&message, table ? nla_put_u32(message, RTA_TABLE, table) : 0);
}

struct nl_msg *message_routes_dump(uint8_t family, uint32_t table)
{
    return table_dump(family, table, 0);
}

struct nl_msg *message_exceptions_dump(uint8_t family, uint32_t table)
{
    return table_dump(family, table, RTM_F_CLONED);
}

/* Without counters, which are most of what there is to say about a link. */
static struct nl_msg *link_request(int flags, uint32_t ifindex)
{
    const struct ifinfomsg link = { .ifi_family = AF_UNSPEC, .ifi_index = (int)ifindex };
    CLEANUP(message_freep)
    struct nl_msg *message = message_new(RTM_GETLINK, flags, &link, sizeof(link));

    if (!message)
        return NULL;
    return message_finish(&message, nla_put_u32(message, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS));
}

struct nl_msg *message_link_query(uint32_t ifindex)
{
    return link_request(0, ifindex);
}

struct nl_msg *message_links_dump(void)
{
    return link_request(NLM_F_DUMP, 0);
}

struct nl_msg *message_neighbours_dump(uint8_t family)
{
    const struct ndmsg ndm = { .ndm_family = family };

    return message_new(RTM_GETNEIGH, NLM_F_DUMP, &ndm, sizeof(ndm));
}
