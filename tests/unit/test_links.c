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

static bool is_used;

static int take(struct links *links, uint32_t ifindex, uint32_t mtu_bytes, uint32_t mtu6_bytes)
{
    struct bytes bytes;

    put_link(&bytes, RTM_NEWLINK, AF_UNSPEC, ifindex, mtu_bytes, mtu6_bytes);
    return links_take(links, bytes_message(&bytes), &is_used);
}

static int take_away(struct links *links, uint8_t family, uint32_t ifindex)
{
    struct bytes bytes;

    put_link(&bytes, RTM_DELLINK, family, ifindex, 1500, 1500);
    return links_take(links, bytes_message(&bytes), &is_used);
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
    assert_int_equal(links_take(&links, bytes_message(&bytes), &is_used), -EBADMSG);
    bytes_put_u8(&bytes, IFLA_MTU, 9);
    assert_int_equal(links_take(&links, bytes_message(&bytes), &is_used), -EBADMSG);
    bytes_begin(&bytes, RTM_NEWLINK, &header, 4);
    assert_int_equal(links_take(&links, bytes_message(&bytes), &is_used), -EBADMSG);
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
    return links_take(links, bytes_message(&bytes), &is_used);
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

        links_take(&links, message, &is_used);
        mtu6_bytes = links.n > 0 ? links.list[0].mtu_bytes[1] : 0;
        assert_true(mtu6_bytes == 0 || mtu6_bytes == 1400);
        free(message);
    }
}

TEST(a_link_is_used_once_a_base_route_leaves_by_it)
{
    LINKS links = { 0 };

    take(&links, ETH0, 1500, 1280);
    assert_int_equal(links_use(&links, ETH0), 0);
    assert_int_equal(links_use(&links, ETH1), 0); /* not known yet */
    take(&links, LO, 65536, 1280);
    assert_false(is_used);
    assert_int_equal(take(&links, ETH1, 1500, 1280), 1);
    assert_true(is_used);
    assert_int_equal(take_away(&links, AF_UNSPEC, ETH0), 1);
    assert_true(is_used);
    take(&links, ETH0, 1500, 1280);
    assert_false(is_used);
}
