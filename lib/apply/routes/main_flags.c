/* SPDX-License-Identifier: MIT */
/* The main table, route by route. */
#include "main_flags.h"

#include "prefix.h"

#include <linux/netconf.h>

void main_flags_begin(struct main_flags *main)
{
    *main = (struct main_flags){ .is_forwarding = main->is_forwarding,
                                 .shortest_direct = UINT8_MAX };
}

static bool is_contested(const struct main_flags *main, const struct riptide_prefix *dst)
{
    int i = family_index(dst->family);

    for (uint32_t n = 0; n < main->n_contested[i] && n < MAIN_MAX_CONTESTED; n++) {
        if (riptide_prefix_equal(&main->contested[i][n], dst))
            return true;
    }
    return main->n_contested[i] > MAIN_MAX_CONTESTED;
}

static void add_contested(struct main_flags *main, const struct riptide_prefix *dst)
{
    int i = family_index(dst->family);

    if (is_contested(main, dst))
        return;
    if (main->n_contested[i] < MAIN_MAX_CONTESTED)
        main->contested[i][main->n_contested[i]] = *dst;
    main->n_contested[i]++;
}

/* Each link has link-local and multicast routes, which lead to no destination of ours. */
static bool is_of_every_link(const struct riptide_prefix *dst)
{
    return dst->family == AF_INET6 &&
           (dst->addr[0] == 0xff || (dst->addr[0] == 0xfe && (dst->addr[1] & 0xc0) == 0x80));
}

static bool depends_on_packet(const struct route *route)
{
    return route->tos != 0 || route->src_len != 0;
}

/* `has_sibling`: another route may have its prefix. */
static void note_ipv6_hop(struct main_flags *main, uint8_t len, const struct hop *hop,
                          bool has_sibling)
{
    if (!hop->gateway.family) {
        if (len < main->shortest_direct)
            main->shortest_direct = len;
    } else {
        if (!main->gateway.family) {
            main->gateway = hop->gateway;
            main->gateway_ifindex = hop->ifindex;
        }
        if (len > main->longest_behind)
            main->longest_behind = len;
        main->may_fail_over |= !riptide_prefix_equal(&hop->gateway, &main->gateway) ||
                               hop->ifindex != main->gateway_ifindex;
    }
    main->may_fail_over |= main->gateway.family &&
                           main->shortest_direct < main->longest_behind + has_sibling;
}

/* `has_sibling`: another route may have its prefix; `has_rival`: one has its metric as well. */
static void note(struct main_flags *main, struct links *links, const struct route *route,
                 const struct nlmsghdr *message, bool has_sibling, bool has_rival)
{
    const struct netlink_attrs attrs = netlink_attrs(message, sizeof(struct rtmsg));
    struct hop hop = { 0 };

    if (is_of_every_link(&route->dst))
        return;
    while (route_next_hop(&hop, route, attrs)) {
        /* A blackhole has no link. The kernel may show a group of next hops without its hops. */
        if (hop.ifindex != 0 || route->type == RTN_UNICAST)
            links_note_main(links, hop.ifindex, &route->dst);
        if (route->dst.family == AF_INET6)
            note_ipv6_hop(main, route->dst.len, &hop, has_sibling);
    }
    if (depends_on_packet(route))
        main->depends_on_packet[family_index(route->dst.family)] = true;
    else if (has_rival)
        add_contested(main, &route->dst);
}

void main_flags_add(struct main_flags *main, struct links *links, const struct route *route,
                    const struct nlmsghdr *message)
{
    bool has_sibling = riptide_prefix_equal(&route->dst, &main->previous.dst);
    bool has_rival = has_sibling && route->priority == main->previous.priority;

    main->previous = *route;
    note(main, links, route, message, has_sibling, has_rival);
}

/*
 * NLM_F_EXCL: no other route has the prefix and metric of the new one; NLM_F_REPLACE: another was
 * replaced (fib_table_insert in net/ipv4/fib_trie.c, fib6_add_rt2node in net/ipv6/ip6_fib.c).
 */
void main_flags_follow(struct main_flags *main, struct links *links, const struct route *route,
                       const struct nlmsghdr *message)
{
    if (message->nlmsg_type == RTM_NEWROUTE)
        note(main, links, route, message, true,
             !(message->nlmsg_flags & (NLM_F_EXCL | NLM_F_REPLACE)));
}

int main_flags_take_netconf(struct main_flags *main, const struct nlmsghdr *message)
{
    const struct netconfmsg *header = mnl_nlmsg_get_payload(message);
    const struct netlink_attrs attrs = netlink_attrs(message, sizeof(*header));
    const struct nlattr *link = netlink_find(attrs, NETCONFA_IFINDEX);
    const struct nlattr *forwarding = netlink_find(attrs, NETCONFA_FORWARDING);
    uint32_t ifindex, value;

    if (!link || !netlink_u32(link, &ifindex))
        return 0;
    if ((int)ifindex == NETCONFA_IFINDEX_ALL && header->ncm_family == AF_INET6 && forwarding &&
        netlink_u32(forwarding, &value))
        main->is_forwarding = value != 0;
    return (int)ifindex;
}

const char *main_flags_reason(const struct main_flags *main, int i)
{
    if (main->is_cut[i])
        return "main has a route too large for the kernel to show, and maybe others after it";
    if (main->depends_on_packet[i])
        return "a route of main depends on tos or source";
    if (main->n_contested[i] > MAIN_MAX_CONTESTED)
        return "main has several routes of one metric to too many prefixes";
    if (families[i] == AF_INET6 && main->may_fail_over && !main->is_forwarding)
        return "main has other IPv6 routes where a gateway does not answer";
    return NULL;
}

bool main_flags_exist(const struct main_flags *main)
{
    return main_flags_reason(main, 0) || main_flags_reason(main, 1) || main->n_contested[0] > 0 ||
           main->n_contested[1] > 0;
}

const char *main_flags_contested(const struct main_flags *main, const struct riptide_prefix *match)
{
    return is_contested(main, match) ? "several routes of main compete for it" : NULL;
}
