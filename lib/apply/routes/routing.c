/* SPDX-License-Identifier: MIT */
/* Rules, the routes of local and main one by one, and messages about links and sysctls. */
#include "routing.h"

#include "internal.h"
#include "prefix.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/ipv6.h>
#include <linux/netconf.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* What a rule says beside its numbers; of ours all but the last. */
enum { BY_US = 1, OF_TCP = 2, OF_THIS_HOST = 4, TO_HOSTS = 8, OURS = 15, OF_OTHERS = 16 };

static bool is_u8(const struct nlattr *attribute, uint8_t value)
{
    return mnl_attr_get_payload_len(attribute) == 1 && mnl_attr_get_u8(attribute) == value;
}

static bool is_loopback(const struct nlattr *name)
{
    return mnl_attr_get_payload_len(name) == sizeof("lo") &&
           memcmp(mnl_attr_get_payload(name), "lo", sizeof("lo")) == 0;
}

static bool parse_attribute(struct rule *rule, uint32_t *says, const struct nlattr *attribute)
{
    uint32_t value = 0;

    switch (mnl_attr_get_type(attribute)) {
    case FRA_TABLE:
        return netlink_u32(attribute, &rule->table);
    case FRA_PRIORITY:
        return netlink_u32(attribute, &rule->priority);
    case FRA_GOTO:
        return netlink_u32(attribute, &rule->target);
    case FRA_PROTOCOL:
        *says |= is_u8(attribute, OUR_PROTOCOL) ? BY_US : 0;
        return true;
    case FRA_IP_PROTO:
        *says |= is_u8(attribute, IPPROTO_TCP) ? OF_TCP : OF_OTHERS;
        return true;
    case FRA_IIFNAME:
        *says |= is_loopback(attribute) ? OF_THIS_HOST : OF_OTHERS;
        return true;
    case FRA_SUPPRESS_PREFIXLEN:
        if (!netlink_u32(attribute, &value))
            return false;
        /* The kernel shows an unset one as -1. */
        if (value == prefix_family_bits(rule->family) - 1u)
            *says |= TO_HOSTS;
        else if (value != UINT32_MAX)
            *says |= OF_OTHERS;
        return true;
    case FRA_PAD:
        return true;
    default:
        *says |= OF_OTHERS;
        return true;
    }
}

int rule_parse(struct rule *rule, const struct nlmsghdr *message)
{
    const struct fib_rule_hdr *header;
    struct netlink_walk attrs;
    const struct nlattr *attribute;
    uint32_t says = 0;

    if (message->nlmsg_type != RTM_NEWRULE || !netlink_has_header(message, sizeof(*header)))
        return -EBADMSG;
    header = mnl_nlmsg_get_payload(message);
    *rule = (struct rule){ .family = header->family, .table = header->table };
    if (header->dst_len || header->src_len || header->tos || header->flags & FIB_RULE_INVERT)
        says = OF_OTHERS;
    attrs = netlink_attrs(message, sizeof(*header));
    while ((attribute = netlink_next(&attrs))) {
        if (!parse_attribute(rule, &says, attribute))
            return -EBADMSG;
    }
    if (attrs.left != 0)
        return -EBADMSG;
    if (header->action != FR_ACT_TO_TBL)
        rule->table = 0;
    rule->is_unconditional = (says & ~(uint32_t)BY_US) == 0;
    rule->is_ours = says == OURS && rule->table &&
                    (rule->table < RT_TABLE_DEFAULT || rule->table > RT_TABLE_LOCAL);
    return 0;
}

struct nlmsghdr *message_rule(void *room, uint16_t type, const struct rule *rule)
{
    const struct fib_rule_hdr header = { .family = rule->family, .action = FR_ACT_TO_TBL };
    const uint8_t by_us = OUR_PROTOCOL, tcp = IPPROTO_TCP;
    uint16_t flags = type == RTM_NEWRULE ? NLM_F_CREATE | NLM_F_EXCL : 0;
    struct nlmsghdr *request = netlink_begin(room, type, flags, &header, sizeof(header));

    mnl_attr_put_u32(request, FRA_PRIORITY, rule->priority);
    mnl_attr_put_u32(request, FRA_TABLE, rule->table);
    netlink_put(request, FRA_PROTOCOL, &by_us, sizeof(by_us));
    netlink_put(request, FRA_IIFNAME, "lo", sizeof("lo"));
    netlink_put(request, FRA_IP_PROTO, &tcp, sizeof(tcp));
    mnl_attr_put_u32(request, FRA_SUPPRESS_PREFIXLEN, prefix_family_bits(rule->family) - 1u);
    return request;
}

int rules_add(struct rules *rules, const struct nlmsghdr *message)
{
    struct rule rule;
    int r = rule_parse(&rule, message);

    if (r < 0)
        return r;
    rules->n_ours += rule.is_ours;
    rules->has_conditional |= !rule.is_ours && !rule.is_unconditional;
    return array_append(&rules->list, &rules->n, &rules->capacity, &rule, sizeof(rule));
}

void rules_deinit(struct rules *rules)
{
    free(rules->list);
    *rules = (struct rules){ 0 };
}

static const struct rule *find_main(const struct rules *rules)
{
    for (uint32_t i = 0; i < rules->n; i++) {
        if (rules->list[i].is_unconditional && rules->list[i].table == RT_TABLE_MAIN)
            return &rules->list[i];
    }
    return NULL;
}

/* The kernel skips a goto to a priority without a rule; ours would become its target. */
static bool is_led_to(const struct rules *rules, uint32_t priority)
{
    for (uint32_t i = 0; i < rules->n; i++) {
        if (rules->list[i].target == priority)
            return true;
    }
    return false;
}

const char *rules_place(const struct rules *rules, uint32_t *priority)
{
    const struct rule *main_rule = find_main(rules);

    if (!main_rule || main_rule->priority < 2)
        return "no unconditional rule `lookup main` is there for ours to precede: add it, `ip [-6] "
               "rule add pref 32766 lookup main`";
    *priority = main_rule->priority - 1;
    if (is_led_to(rules, *priority))
        return "a goto of another rule leads to the priority before `lookup main`, where ours "
               "would be: lead it elsewhere";
    /* The kernel puts a new rule after those of the same priority. */
    for (const struct rule *rule = rules->list; rule < main_rule; rule++) {
        if (!rule->is_ours && rule->priority > *priority)
            return "another rule has the priority of `lookup main`, and comes before it: give it a "
                   "lower one";
    }
    return NULL;
}

const struct rule *rules_find(const struct rules *rules, uint32_t table, bool is_ours)
{
    for (uint32_t i = 0; i < rules->n; i++) {
        if (rules->list[i].is_ours == is_ours && rules->list[i].table == table)
            return &rules->list[i];
    }
    return NULL;
}

bool rules_has_ours_in_place(const struct rules *rules, uint32_t table)
{
    const struct rule *main_rule = find_main(rules);

    return rules->n_ours == 1 && main_rule && main_rule > rules->list && main_rule[-1].is_ours &&
           main_rule[-1].table == table && !is_led_to(rules, main_rule[-1].priority);
}

/* What messages about a link say of it. */
enum { STATE_BYTES = offsetof(struct link, is_used) };

void routing_deinit(struct routing *routing)
{
    free(routing->links);
    free(routing->anyip);
    *routing = (struct routing){ 0 };
}

void routing_begin_routes(struct routing *routing)
{
    free(routing->anyip);
    *routing = (struct routing){ .links = routing->links,
                                 .n_links = routing->n_links,
                                 .links_capacity = routing->links_capacity,
                                 .is_forwarding = routing->is_forwarding,
                                 .shortest_direct = UINT8_MAX };
}

/* Each host has 127.0.0.0/8, and hardly one a route of main in it. */
int routing_add_local(struct routing *routing, const struct route *route)
{
    if (route->type != RTN_LOCAL || prefix_is_host(&route->dst) || route->dst.addr[0] == 127)
        return 0;
    return array_append(&routing->anyip, &routing->n_anyip, &routing->anyip_capacity, &route->dst,
                        sizeof(route->dst));
}

/* Each link has link-local and multicast routes, which lead to no destination of ours. */
static bool is_of_every_link(const struct riptide_prefix *dst)
{
    return dst->family == AF_INET6 &&
           (dst->addr[0] == 0xff || (dst->addr[0] == 0xfe && (dst->addr[1] & 0xc0) == 0x80));
}

static void note_ipv6(struct routing *routing, const struct route *route, bool has_sibling)
{
    uint8_t len = route->dst.len;

    if (route->is_multipath) {
        routing->may_fail_over = true;
    } else if (!route->gateway.family) {
        if (len < routing->shortest_direct)
            routing->shortest_direct = len;
    } else {
        if (!routing->gateway.family) {
            routing->gateway = route->gateway;
            routing->gateway_ifindex = route->ifindex;
        }
        if (len > routing->longest_behind)
            routing->longest_behind = len;
        routing->may_fail_over |= route->ifindex != routing->gateway_ifindex ||
                                  !prefix_equal(&route->gateway, &routing->gateway);
    }
    routing->may_fail_over |=
        routing->gateway.family && routing->shortest_direct < routing->longest_behind + has_sibling;
}

/* `has_sibling`: another route may have its prefix; `has_rival`: one has its metric as well. */
static void note(struct routing *routing, const struct route *route, bool has_sibling,
                 bool has_rival)
{
    const char **reason = &routing->reason[family_index(route->dst.family)];

    if (is_of_every_link(&route->dst))
        return;
    if (route->dst.family == AF_INET6)
        note_ipv6(routing, route, has_sibling);
    if (route->tos != 0 || route->src_len != 0)
        *reason = "a route of main depends on tos or source";
    else if (has_rival)
        *reason = "main has several routes of one metric to a prefix";
}

void routing_add(struct routing *routing, const struct route *route)
{
    bool has_sibling = prefix_equal(&route->dst, &routing->previous.dst);
    bool has_rival = has_sibling && route->priority == routing->previous.priority;

    routing->previous = *route;
    note(routing, route, has_sibling, has_rival);
    for (uint32_t i = 0; route->dst.family == AF_INET && i < routing->n_anyip; i++) {
        if (routing->anyip[i].len < route->dst.len &&
            prefix_contains(&routing->anyip[i], &route->dst))
            routing->inside = route->dst;
    }
}

/*
 * NLM_F_EXCL: no other route has the prefix and metric of the new one; NLM_F_REPLACE: another was
 * replaced (fib_table_insert in net/ipv4/fib_trie.c, fib6_add_rt2node in net/ipv6/ip6_fib.c).
 */
void routing_follow(struct routing *routing, const struct route *route, uint16_t flags)
{
    note(routing, route, true, !(flags & (NLM_F_EXCL | NLM_F_REPLACE)));
}

int routing_take_netconf(struct routing *routing, const struct nlmsghdr *message)
{
    const struct netconfmsg *header = mnl_nlmsg_get_payload(message);
    const struct netlink_walk attrs = netlink_attrs(message, sizeof(*header));
    const struct nlattr *link = netlink_find(attrs, NETCONFA_IFINDEX);
    const struct nlattr *forwarding = netlink_find(attrs, NETCONFA_FORWARDING);
    const struct nlattr *carrier = netlink_find(attrs, NETCONFA_IGNORE_ROUTES_WITH_LINKDOWN);
    uint32_t ifindex, value;

    if (!netlink_has_header(message, sizeof(*header)) || !link || !netlink_u32(link, &ifindex))
        return 0;
    if ((int)ifindex == NETCONFA_IFINDEX_ALL && header->ncm_family == AF_INET6 && forwarding &&
        netlink_u32(forwarding, &value))
        routing->is_forwarding = value != 0;
    if (carrier && netlink_u32(carrier, &value) && value)
        routing->depends_on_carrier = true;
    return (int)ifindex;
}

const char *routing_reason(const struct routing *routing, int i)
{
    if (routing->has_foreign[i])
        return "riptide's table has routes of another protocol: delete them, or choose another "
               "table";
    if (families[i] == AF_INET6 && routing->may_fail_over && !routing->is_forwarding)
        return "main has other IPv6 routes where a gateway does not answer";
    return routing->reason[i];
}

static struct link *find_link(const struct routing *routing, uint32_t ifindex)
{
    for (uint32_t i = 0; i < routing->n_links; i++) {
        if (routing->links[i].ifindex == ifindex)
            return &routing->links[i];
    }
    return NULL;
}

/* IPv6 has its own MTU, which routers and a sysctl can set below that of the link. */
static uint32_t ipv6_mtu(struct netlink_walk attrs)
{
    const struct nlattr *found = netlink_find(attrs, IFLA_AF_SPEC);
    int32_t settings[DEVCONF_MTU6 + 1];

    if (found)
        found = netlink_find(netlink_nested(found), AF_INET6);
    if (found)
        found = netlink_find(netlink_nested(found), IFLA_INET6_CONF);
    if (!found || mnl_attr_get_payload_len(found) < sizeof(settings))
        return 0;
    memcpy(settings, mnl_attr_get_payload(found), sizeof(settings));
    return (uint32_t)settings[DEVCONF_MTU6];
}

static uint32_t mtu_of_route(uint32_t mtu_bytes)
{
    return mtu_bytes > ROUTE_MAX_MTU_BYTES ? 0 : mtu_bytes;
}

static bool parse_link(struct link *link, const struct nlmsghdr *message, const struct link *known)
{
    const struct ifinfomsg *header = mnl_nlmsg_get_payload(message);
    struct netlink_walk attrs = netlink_attrs(message, sizeof(*header));
    const struct nlattr *mtu = netlink_find(attrs, IFLA_MTU);
    const struct nlattr *master = netlink_find(attrs, IFLA_MASTER);

    *link = (struct link){ .ifindex = (uint32_t)header->ifi_index,
                           .flags = header->ifi_flags & (IFF_UP | IFF_RUNNING | IFF_LOWER_UP) };
    if (!mtu || !netlink_u32(mtu, &link->mtu_bytes[0]) ||
        (master && !netlink_u32(master, &link->master)))
        return false;
    link->mtu_bytes[0] = mtu_of_route(link->mtu_bytes[0]);
    link->mtu_bytes[1] = ipv6_mtu(attrs);
    /* IPv6 takes a new one over after this message, without another (addrconf_notify). */
    if (known && known->mtu_bytes[0] != link->mtu_bytes[0] && link->mtu_bytes[1])
        link->mtu_bytes[1] = link->mtu_bytes[0];
    link->mtu_bytes[1] = mtu_of_route(link->mtu_bytes[1]);
    return true;
}

static int add_link(struct routing *routing, const struct link *link)
{
    return array_append(&routing->links, &routing->n_links, &routing->links_capacity, link,
                        sizeof(*link));
}

int routing_take_link(struct routing *routing, const struct nlmsghdr *message)
{
    const struct ifinfomsg *header = mnl_nlmsg_get_payload(message);
    struct link link, *known;
    bool concerns_us;
    int r = 0;

    if (!netlink_has_header(message, sizeof(*header)))
        return -EBADMSG;
    /* Bridges send messages of the same type about their ports: removing a port removes no link. */
    if (header->ifi_family != AF_UNSPEC)
        return 0;
    known = find_link(routing, (uint32_t)header->ifi_index);
    concerns_us = routing->depends_on_carrier || (known && known->is_used);
    if (message->nlmsg_type == RTM_DELLINK) {
        if (known)
            *known = routing->links[--routing->n_links];
        return concerns_us;
    }
    if (!parse_link(&link, message, known))
        return -EBADMSG;
    /* Promiscuous mode, an address, a name: messages about these change no route. */
    if (known && memcmp(known, &link, STATE_BYTES) == 0)
        return 0;
    if (known)
        memcpy(known, &link, STATE_BYTES);
    else
        r = add_link(routing, &link);
    return r < 0 ? r : concerns_us;
}

int routing_use_link(struct routing *routing, struct route *base)
{
    const struct link unknown = { .ifindex = base->ifindex, .is_used = true };
    struct link *link = find_link(routing, base->ifindex);
    uint32_t *of = base->metrics.of;

    if (!link)
        return add_link(routing, &unknown);
    link->is_used = true;
    /* A lock without a value keeps the kernel at 576 bytes behind a gateway (ipv4_mtu). */
    if (of[RTAX_MTU] == 0 && !(of[RTAX_LOCK] & 1u << RTAX_MTU))
        of[RTAX_MTU] = link->mtu_bytes[family_index(base->dst.family)];
    return 0;
}

_Static_assert(sizeof(struct rtmsg) == sizeof(struct fib_rule_hdr), "message_dump");
