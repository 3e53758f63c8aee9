/* SPDX-License-Identifier: MIT */
/* The main table, route by route. */
#include "main_flags.h"

#include "prefix.h"

#include <linux/neighbour.h>
#include <linux/netconf.h>

void main_flags_begin(struct main_flags *main)
{
    for (int i = 0; i < 2; i++) {
        main->depends_on_packet[i] = false;
        main->contested[i].n = 0;
    }
    main->n_gateways = 0;
    main->is_stale = false;
}

static bool is_contested(const struct main_flags *main, const struct riptide_prefix *dst)
{
    int i = family_index(dst->family);

    for (uint32_t n = 0; n < main->contested[i].n && n < MAIN_MAX_CONTESTED; n++) {
        if (riptide_prefix_equal(&main->contested[i].prefixes[n], dst))
            return true;
    }
    return false;
}

static void add_contested(struct main_flags *main, const struct riptide_prefix *dst)
{
    int i = family_index(dst->family);

    if (is_contested(main, dst) || main->contested[i].n > MAIN_MAX_CONTESTED)
        return;
    if (main->contested[i].n < MAIN_MAX_CONTESTED)
        main->contested[i].prefixes[main->contested[i].n] = *dst;
    main->contested[i].n++;
}

static bool is_gateway(const struct main_flags *main, const struct riptide_prefix *address,
                       uint32_t ifindex)
{
    if (main->n_gateways > MAIN_MAX_GATEWAYS)
        return true;
    for (uint32_t n = 0; n < main->n_gateways; n++) {
        if (main->gateways[n].ifindex == ifindex &&
            riptide_prefix_equal(&main->gateways[n].address, address))
            return true;
    }
    return false;
}

/* Returns whether it is new. */
static bool add_gateway(struct main_flags *main, const struct riptide_prefix *address,
                        uint32_t ifindex)
{
    if (is_gateway(main, address, ifindex))
        return false;
    if (main->n_gateways < MAIN_MAX_GATEWAYS)
        main->gateways[main->n_gateways] = (struct gateway){ *address, ifindex };
    main->n_gateways++;
    return true;
}

/* Each link has link-local and multicast routes, which lead to no destination of ours. */
static bool is_of_every_link(const struct riptide_prefix *dst)
{
    return dst->family == AF_INET6 &&
           (dst->addr[0] == 0xff || (dst->addr[0] == 0xfe && (dst->addr[1] & 0xc0) == 0x80));
}

static bool leads_nowhere(const struct route *route)
{
    return route->type == RTN_BLACKHOLE || route->type == RTN_UNREACHABLE ||
           route->type == RTN_PROHIBIT || route->type == RTN_THROW;
}

static bool depends_on_packet(const struct route *route)
{
    return route->tos != 0 || route->src_len != 0;
}

/* `has_rival`: another route has its prefix and metric. Returns whether a gateway is new. */
static bool note(struct main_flags *main, struct links *links, const struct route *route,
                 const struct nlmsghdr *message, bool has_rival)
{
    const struct netlink_attrs attrs = netlink_attrs(message, sizeof(struct rtmsg));
    struct hop hop = { 0 };
    bool is_new = false;

    if (is_of_every_link(&route->dst))
        return false;
    while (route_next_hop(&hop, route, attrs)) {
        /* The kernel may show a group of next hops without its hops. */
        if (hop.ifindex != 0 || !leads_nowhere(route))
            links_note_main(links, hop.ifindex, &route->dst);
        if (route->dst.family == AF_INET6 && hop.gateway.family)
            is_new |= add_gateway(main, &hop.gateway, hop.ifindex);
    }
    if (depends_on_packet(route))
        main->depends_on_packet[family_index(route->dst.family)] = true;
    else if (has_rival)
        add_contested(main, &route->dst);
    /* Its end will have no notification. */
    main->is_stale |= (depends_on_packet(route) || has_rival) && route->expires_s != ROUTE_NEVER_S;
    return is_new;
}

void main_flags_add(struct main_flags *main, struct links *links, const struct route *route,
                    const struct nlmsghdr *message)
{
    bool has_rival = riptide_prefix_equal(&route->dst, &main->previous.dst) &&
                     route->priority == main->previous.priority;

    main->previous = *route;
    note(main, links, route, message, has_rival);
}

/*
 * NLM_F_EXCL: no other route has the prefix and metric of the new one; NLM_F_REPLACE: another was
 * replaced (fib_table_insert in net/ipv4/fib_trie.c, fib6_add_rt2node in net/ipv6/ip6_fib.c).
 */
bool main_flags_follow(struct main_flags *main, struct links *links, const struct route *route,
                       const struct nlmsghdr *message)
{
    int i = family_index(route->dst.family);
    bool is_deletion = message->nlmsg_type == RTM_DELROUTE;

    if (is_deletion || message->nlmsg_flags & NLM_F_REPLACE)
        main->is_stale |= main->is_cut[i] || is_contested(main, &route->dst) ||
                          main->contested[i].n > MAIN_MAX_CONTESTED ||
                          depends_on_packet(route);
    return !is_deletion && note(main, links, route, message,
                                !(message->nlmsg_flags & (NLM_F_EXCL | NLM_F_REPLACE)));
}

void main_flags_doubt(struct main_flags *main)
{
    for (int i = 0; i < 2; i++)
        main->is_stale |= main->depends_on_packet[i] || main->contested[i].n > 0;
}

bool main_flags_is_failure(const struct main_flags *main, const struct nlmsghdr *message)
{
    const struct ndmsg *neighbour = mnl_nlmsg_get_payload(message);
    struct riptide_prefix address;
    const struct nlattr *dst;

    if (message->nlmsg_type != RTM_NEWNEIGH || !netlink_has_header(message, sizeof(*neighbour)) ||
        neighbour->ndm_family != AF_INET6 || !(neighbour->ndm_state & NUD_FAILED))
        return false;
    dst = netlink_find(netlink_attrs(message, sizeof(*neighbour)), NDA_DST);
    return dst && route_address_parse(&address, AF_INET6, dst) &&
           is_gateway(main, &address, (uint32_t)neighbour->ndm_ifindex);
}

void main_flags_take_netconf(struct main_flags *main, const struct nlmsghdr *message)
{
    const struct netconfmsg *header = mnl_nlmsg_get_payload(message);
    const struct nlattr *link, *forwarding;
    struct netlink_attrs attrs;
    uint32_t ifindex, value;

    if (message->nlmsg_type != RTM_NEWNETCONF || !netlink_has_header(message, sizeof(*header)) ||
        header->ncm_family != AF_INET6)
        return;
    attrs = netlink_attrs(message, sizeof(*header));
    link = netlink_find(attrs, NETCONFA_IFINDEX);
    forwarding = netlink_find(attrs, NETCONFA_FORWARDING);
    if (link && netlink_u32(link, &ifindex) && (int32_t)ifindex == NETCONFA_IFINDEX_ALL &&
        forwarding && netlink_u32(forwarding, &value))
        main->is_forwarding = value != 0;
}

const char *main_flags_reason(const struct main_flags *main, int i)
{
    if (main->is_cut[i])
        return "main has a route too large for the kernel to show, and maybe others after it";
    if (main->depends_on_packet[i])
        return "a route of main depends on tos or source";
    if (main->contested[i].n > MAIN_MAX_CONTESTED)
        return "main has several routes of one metric to too many prefixes";
    if (families[i] == AF_INET6 && main->has_failed && !main->is_forwarding)
        return "a gateway of main's routes does not answer";
    return NULL;
}

const char *main_flags_contested(const struct main_flags *main, const struct riptide_prefix *match)
{
    return is_contested(main, match) ? "several routes of main compete for it" : NULL;
}
