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

static struct link before;

static int take(struct links *links, uint32_t ifindex, uint32_t mtu_bytes, uint32_t mtu6_bytes)
{
    struct bytes bytes;

    put_link(&bytes, RTM_NEWLINK, AF_UNSPEC, ifindex, mtu_bytes, mtu6_bytes);
    return links_take(links, bytes_message(&bytes), &before);
}

static int take_away(struct links *links, uint8_t family, uint32_t ifindex)
{
    struct bytes bytes;

    put_link(&bytes, RTM_DELLINK, family, ifindex, 1500, 1500);
    return links_take(links, bytes_message(&bytes), &before);
}

static void assert_mtus(const struct links *links, uint32_t ifindex, uint32_t ipv4, uint32_t ipv6)
{
    assert_int_equal(links_find(links, ifindex)->mtu_bytes[0], ipv4);
    assert_int_equal(links_find(links, ifindex)->mtu_bytes[1], ipv6);
}

TEST(each_family_has_its_mtu)
{
    LINKS links = { 0 };

    assert_mtus(&links, ETH0, 0, 0);
    assert_int_equal(take(&links, ETH1, 9000, 1400), 1);
    assert_int_equal(take(&links, ETH0, 1500, 0), 1);
    assert_mtus(&links, ETH0, 1500, 0);
    assert_mtus(&links, ETH1, 9000, 1400);
    assert_mtus(&links, LO, 0, 0);
    assert_int_equal(take(&links, ETH1, 1280, 1400), 1);
    assert_int_equal(before.mtu_bytes[0], 9000);
    assert_mtus(&links, ETH1, 1280, 1280); /* IPv6 is about to take it over */
    assert_int_equal(take(&links, ETH1, 1280, 1280), 0);
    assert_int_equal(take(&links, ETH1, 1280, 1290), 1);
    links_forget(&links);
    assert_mtus(&links, ETH1, 0, 0);
}

TEST(what_a_route_cannot_say_is_none)
{
    LINKS links = { 0 };

    assert_int_equal(take(&links, LO, 65536, 65536), 1);
    assert_mtus(&links, LO, 0, 0);
    assert_int_equal(take(&links, LO, 1500, 65536), 1);
    assert_mtus(&links, LO, 1500, 1500);
    assert_int_equal(take(&links, ETH0, 65520, 65521), 1);
    assert_mtus(&links, ETH0, 65520, 0);
}

TEST(many_links_are_found_in_whatever_order_they_come)
{
    LINKS links = { 0 };

    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(take(&links, 1 + i * 7 % 1000, 1000 + i * 7 % 1000, 0), 1);
    for (uint32_t i = 0; i < 1000; i += 2)
        assert_int_equal(take_away(&links, AF_UNSPEC, 1 + i), 1);
    for (uint32_t i = 0; i < 1000; i++)
        assert_mtus(&links, 1 + i, i % 2 ? 1000 + i : 0, 0);
    assert_int_equal(links.n, 500);
}

/* A port that leaves its bridge is a link all the same. */
TEST(what_a_bridge_says_of_its_ports_is_passed_by)
{
    LINKS links = { 0 };

    take(&links, ETH0, 1500, 1500);
    assert_int_equal(take_away(&links, AF_BRIDGE, ETH0), 0);
    assert_mtus(&links, ETH0, 1500, 1500);
    assert_int_equal(take_away(&links, AF_UNSPEC, ETH0), 1);
    assert_mtus(&links, ETH0, 0, 0);
}

TEST(what_makes_no_sense_changes_nothing)
{
    const struct ifinfomsg header = { .ifi_index = ETH0 };
    LINKS links = { 0 };
    struct bytes bytes;

    take(&links, ETH0, 1500, 1400);
    bytes_begin(&bytes, RTM_NEWLINK, &header, sizeof(header));
    assert_int_equal(links_take(&links, bytes_message(&bytes), &before), -EBADMSG);
    bytes_put_u8(&bytes, IFLA_MTU, 9);
    assert_int_equal(links_take(&links, bytes_message(&bytes), &before), -EBADMSG);
    bytes_begin(&bytes, RTM_NEWLINK, &header, 4);
    assert_int_equal(links_take(&links, bytes_message(&bytes), &before), -EBADMSG);
    assert_mtus(&links, ETH0, 1500, 1400);
}

static int note(struct links *links, uint32_t ifindex, uint32_t flags, uint32_t master)
{
    const struct ifinfomsg header = { .ifi_index = (int)ifindex, .ifi_flags = flags };
    struct bytes bytes;

    bytes_begin(&bytes, RTM_NEWLINK, &header, sizeof(header));
    bytes_put_u32(&bytes, IFLA_MTU, 1500);
    if (master)
        bytes_put_u32(&bytes, IFLA_MASTER, master);
    return links_take(links, bytes_message(&bytes), &before);
}

TEST(a_state_is_new_where_carrier_or_master_change)
{
    LINKS links = { 0 };

    assert_int_equal(note(&links, ETH0, 0, 0), 1);
    assert_int_equal(note(&links, ETH0, IFF_UP | IFF_RUNNING, 0), 1);
    assert_int_equal(note(&links, ETH0, IFF_UP | IFF_RUNNING | IFF_PROMISC, 0), 0);
    assert_int_equal(note(&links, ETH0, IFF_UP, 0), 1);
    assert_int_equal(note(&links, ETH0, IFF_UP, 7), 1);
    assert_int_equal(note(&links, ETH0, IFF_UP, 7), 0);
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

        links_take(&links, message, &before);
        mtu6_bytes = links.n > 0 ? links.list[0].mtu_bytes[1] : 0;
        assert_true(mtu6_bytes == 0 || mtu6_bytes == 1400);
        free(message);
    }
}

static void put_hops(struct base *base, const uint32_t *ifindexes, size_t n)
{
    struct rtnexthop hops[4] = { 0 };
    struct nlattr several = { (uint16_t)(sizeof(several) + n * sizeof(*hops)), RTA_MULTIPATH };

    memset(base, 0, sizeof(*base));
    base->route.dst.family = AF_INET;
    for (size_t i = 0; i < n; i++)
        hops[i] = (struct rtnexthop){ sizeof(*hops), 0, 0, (int)ifindexes[i] };
    memcpy(base->attrs, &several, sizeof(several));
    memcpy(base->attrs + sizeof(several), hops, n * sizeof(*hops));
    base->n_bytes = several.nla_len;
}

TEST(hops_have_one_where_their_links_have_the_same)
{
    static const uint32_t hops[][3] = { { ETH0, ETH1, ETH0 }, { ETH0, ETH0, LO }, { LO, 99, LO } };
    static const uint32_t expected[] = { 1500, 0, 0 };
    LINKS links = { 0 };
    struct base base;

    take(&links, ETH0, 1500, 1280);
    take(&links, ETH1, 1500, 1500);
    take(&links, LO, 9000, 1500);
    for (size_t i = 0; i < 3; i++) {
        put_hops(&base, hops[i], 3);
        assert_int_equal(links_mtu(&links, &base), expected[i]);
    }
    put_hops(&base, hops[0], 0);
    assert_int_equal(links_mtu(&links, &base), 0);
    base = (struct base){ .route = { .dst.family = AF_INET6, .ifindex = ETH0 } };
    assert_int_equal(links_mtu(&links, &base), 1280);
}

static void lead(struct links *links, uint32_t ifindex, const char *text)
{
    const struct riptide_prefix dst = prefix(text);

    links_note_main(links, ifindex, &dst);
}

TEST(a_link_has_a_few_prefixes_of_main_or_leads_anywhere)
{
    static const char *const dsts[] = { "10.0.0.0/24", "10.0.1.0/24", "2001:db8::/64",
                                        "192.0.2.1/32" };
    const struct link *link;
    LINKS links = { 0 };

    take(&links, ETH0, 1500, 1280);
    take(&links, ETH1, 1500, 1280);
    for (int i = 0; i < 8; i++)
        lead(&links, ETH0, dsts[i % 4]);
    lead(&links, ETH0, "10.0.0.8/29"); /* inside one of them */
    link = links_find(&links, ETH0);
    assert_int_equal(link->n_prefixes, 4);
    assert_false(link->leads_anywhere || links_find(&links, ETH1)->n_prefixes);
    take(&links, ETH0, 9000, 1280);
    assert_int_equal(link->n_prefixes, 4);
    lead(&links, ETH0, "0.0.0.0/0");
    assert_true(link->leads_anywhere);
    assert_false(links.are_unknown);
    lead(&links, LO, "10.0.0.0/24");
    assert_true(links.are_unknown);
    links_begin_main(&links);
    assert_false(link->n_prefixes || link->leads_anywhere || links.are_unknown);
}
