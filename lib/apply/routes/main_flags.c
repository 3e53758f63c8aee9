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

bool main_flags_contest(const struct main_flags *main, const struct riptide_prefix *match)
{
    for (uint32_t n = 0; n < main->n_contested && n < MAIN_MAX_CONTESTED; n++) {
        if (riptide_prefix_equal(&main->contested[n], match))
            return true;
    }
    return main->n_contested > MAIN_MAX_CONTESTED;
}

/* Each link has link-local and multicast routes, which lead to no destination of ours. */
static bool is_of_every_link(const struct riptide_prefix *dst)
{
    return dst->family == AF_INET6 &&
           (dst->addr[0] == 0xff || (dst->addr[0] == 0xfe && (dst->addr[1] & 0xc0) == 0x80));
}

static void note_ipv6(struct main_flags *main, const struct route *route, bool has_sibling)
{
    uint8_t len = route->dst.len;

    if (route->is_multipath) {
        main->may_fail_over = true;
    } else if (!route->gateway.family) {
        if (len < main->shortest_direct)
            main->shortest_direct = len;
    } else {
        if (!main->gateway.family) {
            main->gateway = route->gateway;
            main->gateway_ifindex = route->ifindex;
        }
        if (len > main->longest_behind)
            main->longest_behind = len;
        main->may_fail_over |= !riptide_prefix_equal(&route->gateway, &main->gateway) ||
                               route->ifindex != main->gateway_ifindex;
    }
    main->may_fail_over |= main->gateway.family &&
                           main->shortest_direct < main->longest_behind + has_sibling;
}

/* `has_sibling`: another route may have its prefix; `has_rival`: one has its metric as well. */
static void note(struct main_flags *main, const struct route *route, bool has_sibling,
                 bool has_rival)
{
    if (is_of_every_link(&route->dst))
        return;
    if (route->dst.family == AF_INET6)
        note_ipv6(main, route, has_sibling);
    if (route->tos != 0 || route->src_len != 0) {
        main->depends_on_packet[family_index(route->dst.family)] = true;
    } else if (has_rival && !main_flags_contest(main, &route->dst)) {
        if (main->n_contested < MAIN_MAX_CONTESTED)
            main->contested[main->n_contested] = route->dst;
        main->n_contested++;
    }
}

void main_flags_add(struct main_flags *main, const struct route *route)
{
    bool has_sibling = riptide_prefix_equal(&route->dst, &main->previous.dst);
    bool has_rival = has_sibling && route->priority == main->previous.priority;

    main->previous = *route;
    note(main, route, has_sibling, has_rival);
}

/*
 * NLM_F_EXCL: no other route has the prefix and metric of the new one; NLM_F_REPLACE: another was
 * replaced (fib_table_insert in net/ipv4/fib_trie.c, fib6_add_rt2node in net/ipv6/ip6_fib.c).
 */
void main_flags_follow(struct main_flags *main, const struct route *route, uint16_t flags)
{
    note(main, route, true, !(flags & (NLM_F_EXCL | NLM_F_REPLACE)));
}

int main_flags_take_netconf(struct main_flags *main, const struct nlmsghdr *message)
{
    const struct netconfmsg *header = mnl_nlmsg_get_payload(message);
    const struct netlink_attrs attrs = netlink_attrs(message, sizeof(*header));
    const struct nlattr *link = netlink_find(attrs, NETCONFA_IFINDEX);
    const struct nlattr *forwarding = netlink_find(attrs, NETCONFA_FORWARDING);
    const struct nlattr *carrier = netlink_find(attrs, NETCONFA_IGNORE_ROUTES_WITH_LINKDOWN);
    uint32_t ifindex, value;

    if (!link || !netlink_u32(link, &ifindex))
        return 0;
    if ((int)ifindex == NETCONFA_IFINDEX_ALL && header->ncm_family == AF_INET6 && forwarding &&
        netlink_u32(forwarding, &value))
        main->is_forwarding = value != 0;
    if (carrier && netlink_u32(carrier, &value) && value)
        main->depends_on_carrier[family_index(header->ncm_family)] = true;
    return (int)ifindex;
}

const char *main_flags_reason(const struct main_flags *main, int i)
{
    if (main->is_cut[i])
        return "main has a route too large for the kernel to show, and maybe others after it";
    if (main->depends_on_packet[i])
        return "a route of main depends on tos or source";
    if (main->n_contested > MAIN_MAX_CONTESTED)
        return "main has several routes of one metric to too many prefixes";
    if (families[i] == AF_INET6 && main->may_fail_over && !main->is_forwarding)
        return "main has other IPv6 routes where a gateway does not answer";
    return NULL;
}

bool main_flags_exist(const struct main_flags *main)
{
    return main_flags_reason(main, 0) || main_flags_reason(main, 1) || main->n_contested > 0;
}
