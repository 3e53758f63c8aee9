/* SPDX-License-Identifier: MIT */
/*
 * lib/apply/routes/routing: what begins with a notification, and what may have ended; link messages
 * in the order of the kernel's rtnl_fill_ifinfo, and the MTU that base routes have from their links.
 */
#include "apply/routes/routing.h"
#include "bytes.h"
#include "internal.h"

#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/ipv6.h>
#include <linux/netconf.h>

enum {
    ADDED = NLM_F_CREATE | NLM_F_EXCL,
    APPENDED = NLM_F_CREATE | NLM_F_APPEND,
    PREPENDED = NLM_F_CREATE,
    REPLACED = NLM_F_REPLACE,
    IFINDEX = 3,
};

static struct routing host;

static void follow(int how, const char *text, uint8_t tos, const char *gateway, uint32_t ifindex)
{
    const struct bytes_route said = {
        .dst = text, .tos = tos, .ifindex = ifindex, .gateway = gateway
    };
    struct bytes message;
    struct route route;

    bytes_put_route(&message, &said);
    assert_int_equal(route_parse(&route, bytes_message(&message)), 0);
    routing_follow(&host, &route, (uint16_t)how);
}

/* Beside another one of its metric, or for some packets alone. */
TEST(route_that_hides_others_is_a_reason_for_its_family)
{
    static const struct {
        int how;
        uint8_t tos;
        bool is_reason;
    } cases[] = {
        { ADDED, 0, false },    { REPLACED, 0, false }, { APPENDED, 0, true },
        { PREPENDED, 0, true }, { ADDED, 8, true },
    };

    EACH(row, cases) {
        host = (struct routing){ 0 };
        follow(row->how, "203.0.113.0/24", row->tos, "192.0.2.1", IFINDEX);
        assert_int_equal(routing_reason(&host, 0) != RIPTIDE_REASON_NONE, row->is_reason);
        assert_int_equal(routing_reason(&host, 1), RIPTIDE_REASON_NONE);
        /* Main is read. */
        routing_begin_routes(&host);
        assert_int_equal(routing_reason(&host, 0), RIPTIDE_REASON_NONE);
    }
}

static int netconf(uint8_t family, int32_t ifindex, uint32_t forwarding)
{
    const struct netconfmsg header = { .ncm_family = family };
    struct bytes message;

    bytes_begin(&message, RTM_NEWNETCONF, &header, sizeof(header));
    if (ifindex)
        bytes_put_u32(&message, NETCONFA_IFINDEX, (uint32_t)ifindex);
    bytes_put_u32(&message, NETCONFA_FORWARDING, forwarding);
    return routing_take_netconf(&host, bytes_message(&message));
}

TEST(ipv6_must_have_no_other_way_to_what_is_behind_a_gateway)
{
    static const struct {
        const char *text, *gateway; /* NULL: none */
        bool is_other;
        uint32_t ifindex;
    } cases[] = {
        { "2001:db8::/32", "2001:db8::1", false, IFINDEX },
        { "2001:db8:1::/48", "2001:db8::2", true, IFINDEX },
        { "2001:db8::/32", "2001:db8::1", true, 7 },
        { "2001:db8:1::/48", NULL, true, IFINDEX },
        { "2001:db8:5::/64", NULL, false, IFINDEX },
        { "2001:db8::/32", NULL, true, IFINDEX },
        { "203.0.113.0/24", "192.0.2.1", false, IFINDEX },
        { "fe80::/10", NULL, false, IFINDEX },
    };

    EACH(row, cases) {
        host = (struct routing){ 0 };
        routing_begin_routes(&host);
        follow(ADDED, "2001:db8:1::/48", 0, "2001:db8::1", IFINDEX);
        assert_int_equal(routing_reason(&host, 1), RIPTIDE_REASON_NONE);
        follow(ADDED, row->text, 0, row->gateway, row->ifindex);
        assert_int_equal(routing_reason(&host, 1) != RIPTIDE_REASON_NONE, row->is_other);
        assert_int_equal(routing_reason(&host, 0), RIPTIDE_REASON_NONE);
        assert_int_equal(netconf(AF_INET, NETCONFA_IFINDEX_ALL, 1), NETCONFA_IFINDEX_ALL);
        assert_int_equal(netconf(AF_INET6, IFINDEX, 1), IFINDEX);
        assert_int_equal(netconf(AF_INET6, 0, 1), 0);
        assert_int_equal(routing_reason(&host, 1) != RIPTIDE_REASON_NONE, row->is_other);
        assert_int_equal(netconf(AF_INET6, NETCONFA_IFINDEX_ALL, 1), NETCONFA_IFINDEX_ALL);
        assert_int_equal(routing_reason(&host, 1), RIPTIDE_REASON_NONE);
        netconf(AF_INET6, NETCONFA_IFINDEX_ALL, 0);
        assert_int_equal(routing_reason(&host, 1) != RIPTIDE_REASON_NONE, row->is_other);
    }
}

enum { ETH0 = 2, ETH1 = 7, LO = 1 };

/* Those that are forgotten where they go out of scope. */
#define ROUTING CLEANUP(routing_deinit) struct routing

/* What a message says of a link; mtu6_bytes 0: IPv6 is not on it. */
struct said {
    uint32_t ifindex, mtu_bytes, mtu6_bytes, flags, master;
    uint8_t family;
    bool is_gone;
};

static int take(struct routing *routing, struct said said)
{
    const struct ifinfomsg header = { .ifi_family = said.family,
                                      .ifi_index = (int)said.ifindex,
                                      .ifi_flags = said.flags };
    const int32_t settings[] = {
        [DEVCONF_HOPLIMIT] = 64, [DEVCONF_MTU6] = (int32_t)said.mtu6_bytes, [DEVCONF_ACCEPT_RA] = 1
    };
    struct nlattr *spec, *ipv6;
    struct bytes bytes;

    bytes_begin(&bytes, said.is_gone ? RTM_DELLINK : RTM_NEWLINK, &header, sizeof(header));
    bytes_put(&bytes, IFLA_IFNAME, "eth", 4);
    bytes_put_u32(&bytes, IFLA_MTU, said.mtu_bytes);
    if (said.master)
        bytes_put_u32(&bytes, IFLA_MASTER, said.master);
    spec = bytes_nest(&bytes, IFLA_AF_SPEC | NLA_F_NESTED);
    bytes_put(&bytes, AF_INET, "", 0);
    if (said.mtu6_bytes) {
        ipv6 = bytes_nest(&bytes, AF_INET6 | NLA_F_NESTED);
        bytes_put_u32(&bytes, IFLA_INET6_FLAGS, 0);
        bytes_put(&bytes, IFLA_INET6_CONF, settings, sizeof(settings));
        mnl_attr_nest_end(bytes_message(&bytes), ipv6);
    }
    mnl_attr_nest_end(bytes_message(&bytes), spec);
    return routing_take_link(routing, bytes_message(&bytes));
}

/* Of a route that leaves by that link. */
static uint32_t mtu_by(struct routing *routing, uint32_t ifindex, uint8_t family)
{
    struct route base = { .dst.family = family, .ifindex = ifindex };

    routing_take_mtu(routing, &base);
    return base.metrics.of[RTAX_MTU];
}

/* One after the other. */
TEST(links_have_an_mtu_for_each_family)
{
    static const struct {
        struct said said;
        int outcome; /* 1: routes by it may have changed */
        uint32_t ipv4, ipv6;
    } steps[] = {
        { { .ifindex = ETH1, 9000, 1400 }, 0, 9000, 1400 },
        { { .ifindex = ETH0, 1500, 0 }, 0, 1500, 0 },
        { { .ifindex = ETH1, 1280, 1400 }, 1, 1280, 1280 }, /* IPv6 is about to take it over */
        { { .ifindex = ETH1, 1280, 1280 }, 0, 1280, 1280 },
        { { .ifindex = ETH1, 1280, 1290 }, 1, 1280, 1290 },
        /* what a route cannot say is none */
        { { .ifindex = LO, 65536, 65536 }, 0, 0, 0 },
        { { .ifindex = LO, 1500, 65536 }, 1, 1500, 1500 },
        { { .ifindex = 9, 65520, 65521 }, 0, 65520, 0 },
        /* a port that leaves its bridge is a link all the same */
        { { .ifindex = ETH0, 1500, 0, .family = AF_BRIDGE, .is_gone = true }, 0, 1500, 0 },
        { { .ifindex = ETH0, 1500, 0, .is_gone = true }, 1, 0, 0 },
        /* carrier and master */
        { { .ifindex = ETH0, 1500, 0 }, 0, 1500, 0 },
        { { .ifindex = ETH0, 1500, 0, .flags = IFF_UP | IFF_RUNNING }, 1, 1500, 0 },
        { { .ifindex = ETH0, 1500, 0, .flags = IFF_UP | IFF_RUNNING | IFF_PROMISC }, 0, 1500, 0 },
        { { .ifindex = ETH0, 1500, 0, .flags = IFF_UP }, 1, 1500, 0 },
        { { .ifindex = ETH0, 1500, 0, .flags = IFF_UP, .master = 7 }, 1, 1500, 0 },
        { { .ifindex = ETH0, 1500, 0, .flags = IFF_UP, .master = 7 }, 0, 1500, 0 },
    };
    ROUTING routing = { 0 };

    EACH(row, steps) {
        assert_row(take(&routing, row->said) == row->outcome);
        assert_row(mtu_by(&routing, row->said.ifindex, AF_INET) == row->ipv4);
        assert_row(mtu_by(&routing, row->said.ifindex, AF_INET6) == row->ipv6);
    }
}

TEST(base_without_an_mtu_has_that_of_its_link)
{
    ROUTING routing = { 0 };
    struct route base = { .dst.family = AF_INET, .ifindex = ETH0, .metrics.of[RTAX_MTU] = 1400 };

    take(&routing, (struct said){ .ifindex = ETH0, 1500, 0 });
    routing_take_mtu(&routing, &base);
    assert_int_equal(base.metrics.of[RTAX_MTU], 1400);
    /* A lock of it is left as it is. */
    base.metrics = (struct metrics){ .of[RTAX_LOCK] = 1u << RTAX_MTU };
    routing_take_mtu(&routing, &base);
    assert_int_equal(base.metrics.of[RTAX_MTU], 0);
}

TEST(links_are_found_in_whatever_order_they_come)
{
    ROUTING routing = { 0 };

    for (uint32_t i = 0; i < 1000; i++)
        take(&routing, (struct said){ .ifindex = 1 + i * 7 % 1000, 1000 + i * 7 % 1000, 0 });
    for (uint32_t i = 0; i < 1000; i += 2)
        take(&routing, (struct said){ .ifindex = 1 + i, 1500, 0, .is_gone = true });
    assert_int_equal(routing.n_links, 500);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(mtu_by(&routing, 1 + i, AF_INET), i % 2 ? 1000 + i : 0);
}

TEST(link_message_that_makes_no_sense_changes_nothing)
{
    const struct ifinfomsg header = { .ifi_index = ETH0 };
    ROUTING routing = { 0 };
    struct bytes bytes;

    take(&routing, (struct said){ .ifindex = ETH0, 1500, 1400 });
    bytes_begin(&bytes, RTM_NEWLINK, &header, sizeof(header));
    assert_int_equal(routing_take_link(&routing, bytes_message(&bytes)), -EBADMSG);
    bytes_put_u8(&bytes, IFLA_MTU, 9);
    assert_int_equal(routing_take_link(&routing, bytes_message(&bytes)), -EBADMSG);
    bytes_begin(&bytes, RTM_NEWLINK, &header, 4);
    assert_int_equal(routing_take_link(&routing, bytes_message(&bytes)), -EBADMSG);
    assert_int_equal(mtu_by(&routing, ETH0, AF_INET6), 1400);
}
