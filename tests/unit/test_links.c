/* SPDX-License-Identifier: MIT */
/*
 * lib/apply/links: link messages in the order of the kernel's rtnl_fill_ifinfo, and the MTU that
 * base routes have from their links.
 */
#include "apply/routes/links.h"
#include "bytes.h"
#include "internal.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/ipv6.h>
#include <linux/rtnetlink.h>

enum { ETH0 = 2, ETH1 = 7, LO = 1 };

/* Those that are forgotten where they go out of scope. */
#define LINKS CLEANUP(links_forget) struct links

/* A message about a link; mtu6_bytes 0: one that IPv6 is not on. */
static void put_link(struct bytes *bytes, uint16_t type, uint8_t family, uint32_t ifindex,
                     uint32_t mtu_bytes, uint32_t mtu6_bytes)
{
    const struct ifinfomsg header = { .ifi_family = family, .ifi_index = (int)ifindex };
    const int32_t settings[] = {
        [DEVCONF_HOPLIMIT] = 64, [DEVCONF_MTU6] = (int32_t)mtu6_bytes, [DEVCONF_ACCEPT_RA] = 1
    };
    size_t spec, ipv6;

    bytes_begin(bytes, type, &header, sizeof(header));
    bytes_put(bytes, IFLA_IFNAME, "eth", 4);
    bytes_put_u32(bytes, IFLA_MTU, mtu_bytes);
    spec = bytes_nest(bytes, IFLA_AF_SPEC | NLA_F_NESTED);
    bytes_put(bytes, AF_INET, "", 0);
    if (mtu6_bytes) {
        ipv6 = bytes_nest(bytes, AF_INET6 | NLA_F_NESTED);
        bytes_put_u32(bytes, IFLA_INET6_FLAGS, 0);
        bytes_put(bytes, IFLA_INET6_CONF, settings, sizeof(settings));
        bytes_nest_end(bytes, ipv6);
    }
    bytes_nest_end(bytes, spec);
}

static int take(struct links *links, uint32_t ifindex, uint32_t mtu_bytes, uint32_t mtu6_bytes)
{
    struct bytes bytes;

    put_link(&bytes, RTM_NEWLINK, AF_UNSPEC, ifindex, mtu_bytes, mtu6_bytes);
    return links_take(links, bytes_message(&bytes));
}

static int take_away(struct links *links, uint8_t family, uint32_t ifindex)
{
    struct bytes bytes;

    put_link(&bytes, RTM_DELLINK, family, ifindex, 1500, 1500);
    return links_take(links, bytes_message(&bytes));
}

static void assert_mtus(const struct links *links, uint32_t ifindex, uint32_t ipv4, uint32_t ipv6)
{
    assert_int_equal(links_mtu_at(links, ifindex, AF_INET), ipv4);
    assert_int_equal(links_mtu_at(links, ifindex, AF_INET6), ipv6);
}

TEST(each_family_has_its_mtu)
{
    LINKS links = { 0 };

    assert_mtus(&links, ETH0, 0, 0);
    assert_int_equal(take(&links, ETH1, 9000, 1400), 0);
    assert_int_equal(take(&links, ETH0, 1500, 0), 0);
    assert_mtus(&links, ETH0, 1500, 0);
    assert_mtus(&links, ETH1, 9000, 1400);
    assert_mtus(&links, LO, 0, 0);
    assert_int_equal(take(&links, ETH1, 1280, 1280), 1);
    assert_mtus(&links, ETH1, 1280, 1280);
    assert_int_equal(take(&links, ETH1, 1280, 1280), 0);
    assert_int_equal(take(&links, ETH1, 1280, 1290), 1);
    links_forget(&links);
    assert_mtus(&links, ETH1, 0, 0);
}

TEST(what_a_route_cannot_say_is_none)
{
    LINKS links = { 0 };

    assert_int_equal(take(&links, LO, 65536, 65536), 0);
    assert_mtus(&links, LO, 0, 0);
    assert_int_equal(take(&links, LO, 65520, 65521), 1);
    assert_mtus(&links, LO, 65520, 0);
}

TEST(many_links_are_found_in_whatever_order_they_come)
{
    LINKS links = { 0 };

    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(take(&links, 1 + i * 7 % 1000, 1000 + i * 7 % 1000, 0), 0);
    for (uint32_t i = 0; i < 1000; i += 2)
        assert_int_equal(take_away(&links, AF_UNSPEC, 1 + i), 0);
    for (uint32_t i = 0; i < 1000; i++)
        assert_mtus(&links, 1 + i, i % 2 ? 1000 + i : 0, 0);
    assert_int_equal(links.n, 500);
}

/* A port that leaves its bridge is a link all the same. */
TEST(what_a_bridge_says_of_its_ports_is_passed_by)
{
    LINKS links = { 0 };

    assert_int_equal(take(&links, ETH0, 1500, 1500), 0);
    assert_int_equal(take_away(&links, AF_BRIDGE, ETH0), 0);
    assert_mtus(&links, ETH0, 1500, 1500);
    assert_int_equal(take_away(&links, AF_UNSPEC, ETH0), 0);
    assert_mtus(&links, ETH0, 0, 0);
    assert_int_equal(take_away(&links, AF_UNSPEC, ETH0), 0);
}

TEST(what_makes_no_sense_changes_nothing)
{
    const struct ifinfomsg header = { .ifi_index = ETH0 };
    LINKS links = { 0 };
    struct bytes bytes;

    assert_int_equal(take(&links, ETH0, 1500, 1400), 0);
    bytes_begin(&bytes, RTM_NEWLINK, &header, sizeof(header));
    assert_int_equal(links_take(&links, bytes_message(&bytes)), -EBADMSG);
    bytes_put_u8(&bytes, IFLA_MTU, 9);
    assert_int_equal(links_take(&links, bytes_message(&bytes)), -EBADMSG);
    bytes_begin(&bytes, RTM_NEWLINK, &header, 4);
    assert_int_equal(links_take(&links, bytes_message(&bytes)), -EBADMSG);
    bytes_begin(&bytes, RTM_NEWROUTE, &header, sizeof(header));
    assert_int_equal(links_take(&links, bytes_message(&bytes)), 0);
    assert_mtus(&links, ETH0, 1500, 1400);
}

static bool note(struct links *links, uint32_t ifindex, uint32_t flags, uint32_t master)
{
    const struct ifinfomsg header = { .ifi_index = (int)ifindex, .ifi_flags = flags };
    struct bytes bytes;

    bytes_begin(&bytes, RTM_NEWLINK, &header, sizeof(header));
    bytes_put_u32(&bytes, IFLA_MTU, 1500);
    if (master)
        bytes_put_u32(&bytes, IFLA_MASTER, master);
    return links_note_state(links, bytes_message(&bytes));
}

TEST(a_state_is_new_where_carrier_or_master_change)
{
    LINKS links = { 0 };

    assert_false(note(&links, ETH0, IFF_UP, 0));
    assert_int_equal(take(&links, ETH0, 1500, 0), 0);
    assert_false(note(&links, ETH0, 0, 0));
    assert_false(note(&links, ETH0, IFF_UP | IFF_RUNNING, 0));
    assert_true(note(&links, ETH0, IFF_UP | IFF_RUNNING | IFF_PROMISC, 0));
    assert_int_equal(take(&links, ETH0, 1400, 0), 1);
    assert_true(note(&links, ETH0, IFF_UP | IFF_RUNNING, 0));
    assert_false(note(&links, ETH0, IFF_UP, 0));
    assert_false(note(&links, ETH0, IFF_UP, 7));
    assert_true(note(&links, ETH0, IFF_UP, 7));
    assert_int_equal(take_away(&links, AF_UNSPEC, ETH0), 0);
    assert_false(note(&links, ETH0, IFF_UP, 7));
}

/* Whatever is missing at the end is not read. */
TEST(cut_anywhere_it_is_read_to_its_end)
{
    struct bytes bytes;

    put_link(&bytes, RTM_NEWLINK, AF_UNSPEC, ETH0, 1500, 1400);
    for (size_t n = NLMSG_HDRLEN; n < bytes_message(&bytes)->nlmsg_len; n++) {
        struct nlmsghdr *message = bytes_cut(&bytes, n);
        LINKS links = { 0 };
        uint32_t mtu6_bytes;

        links_take(&links, message);
        mtu6_bytes = links_mtu_at(&links, ETH0, AF_INET6);
        assert_true(mtu6_bytes == 0 || mtu6_bytes == 1400);
        free(message);
    }
}

/* A base of several hops, followed by a metric with the number of RTA_MULTIPATH. */
static void put_hops(struct base *base, const uint32_t *ifindexes, size_t n)
{
    const struct nlattr metric = { sizeof(metric), RTA_MULTIPATH };
    struct rtnexthop hops[4] = { 0 };
    struct nlattr several = { (uint16_t)(sizeof(several) + n * sizeof(*hops)), RTA_MULTIPATH };

    memset(base, 0, sizeof(*base));
    base->route.dst.family = AF_INET;
    base->is_multipath = true;
    for (size_t i = 0; i < n; i++)
        hops[i] = (struct rtnexthop){ sizeof(*hops), 0, 0, (int)ifindexes[i] };
    memcpy(base->attrs.bytes, &several, sizeof(several));
    memcpy(base->attrs.bytes + sizeof(several), hops, n * sizeof(*hops));
    memcpy(base->attrs.bytes + several.nla_len, &metric, sizeof(metric));
    base->metrics_bytes = sizeof(metric);
    base->attrs.n_bytes = (uint32_t)(several.nla_len + sizeof(metric));
}

TEST(hops_have_one_where_their_links_have_the_same)
{
    static const uint32_t hops[][3] = { { ETH0, ETH1, ETH0 }, { ETH0, ETH0, LO }, { LO, 99, LO } };
    static const uint32_t expected[] = { 1500, 0, 0 };
    LINKS links = { 0 };
    struct base base;

    assert_int_equal(take(&links, ETH0, 1500, 1280), 0);
    assert_int_equal(take(&links, ETH1, 1500, 1500), 0);
    assert_int_equal(take(&links, LO, 9000, 1500), 0);
    for (size_t i = 0; i < 3; i++) {
        put_hops(&base, hops[i], 3);
        assert_int_equal(links_mtu(&links, &base), expected[i]);
    }
    put_hops(&base, hops[0], 0);
    assert_int_equal(links_mtu(&links, &base), 0);
    base = (struct base){ .route = { .dst.family = AF_INET6, .ifindex = ETH0 } };
    assert_int_equal(links_mtu(&links, &base), 1280);
}

/* A route of main through n links. */
static void note_main(struct links *links, uint8_t type, const uint32_t *ifindexes, size_t n)
{
    const struct rtmsg rtm = { .rtm_family = AF_INET, .rtm_type = type };
    struct rtnexthop hops[4] = { 0 };
    struct bytes bytes;
    struct route route;

    bytes_begin(&bytes, RTM_NEWROUTE, &rtm, sizeof(rtm));
    for (size_t i = 0; i < n; i++)
        hops[i] = (struct rtnexthop){ sizeof(*hops), 0, 0, (int)ifindexes[i] };
    if (n == 1)
        bytes_put_u32(&bytes, RTA_OIF, ifindexes[0]);
    else if (n > 1)
        bytes_put(&bytes, RTA_MULTIPATH, hops, n * sizeof(*hops));
    assert_int_equal(route_parse(&route, bytes_message(&bytes)), 0);
    links_note_main(links, &route, bytes_message(&bytes));
}

TEST(routes_of_main_lead_through_links_that_they_were_seen_on)
{
    static const struct {
        uint8_t type;
        size_t n;
        uint32_t ifindexes[2];
        bool is_of_main[3]; /* ETH0, ETH1, another */
    } cases[] = {
        { RTN_UNICAST, 1, { ETH0 }, { true, false, false } },
        { RTN_UNICAST, 2, { ETH0, ETH1 }, { true, true, false } },
        { RTN_BLACKHOLE, 0, { 0 }, { false, false, false } },
        { RTN_UNREACHABLE, 0, { 0 }, { false, false, false } },
        { RTN_PROHIBIT, 0, { 0 }, { false, false, false } },
        { RTN_THROW, 0, { 0 }, { false, false, false } },
        { RTN_UNREACHABLE, 1, { ETH1 }, { false, true, false } }, /* as those of IPv6 */
        { RTN_UNICAST, 0, { 0 }, { true, true, true } },          /* a next-hop group */
        { RTN_UNICAST, 2, { ETH0, 99 }, { true, true, true } },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        LINKS links = { 0 };

        assert_int_equal(take(&links, ETH0, 1500, 1280), 0);
        assert_int_equal(take(&links, ETH1, 1500, 1500), 0);
        note_main(&links, cases[i].type, cases[i].ifindexes, cases[i].n);
        assert_int_equal(take(&links, ETH0, 9000, 1280), 1);
        assert_int_equal(links_is_of_main(&links, ETH0), cases[i].is_of_main[0]);
        assert_int_equal(links_is_of_main(&links, ETH1), cases[i].is_of_main[1]);
        assert_int_equal(links_is_of_main(&links, 99), cases[i].is_of_main[2]);
    }
}
