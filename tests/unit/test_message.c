/* SPDX-License-Identifier: MIT */
/*
 * lib/apply/message: requests read back attribute by attribute.
 */
#include "apply/routes/route.h"
#include "bytes.h"

#include <linux/netconf.h>
#include <linux/fib_rules.h>
#include <linux/if_link.h>
#include <netinet/in.h>

/* Where requests are built one after the other; unwritten bytes show. */
static void *room(void)
{
    static struct netlink_room room;

    memset(&room, 0xdd, sizeof(room));
    return &room;
}

enum { TABLE = 7230, PROTOCOL = 230 };

static const struct nlattr *find(const struct nlmsghdr *message, size_t header_n,
                                         uint16_t type)
{
    return netlink_find(netlink_attrs(message, header_n), type);
}

static uint32_t u32_of(struct nlmsghdr *message, size_t header_n, uint16_t type)
{
    const struct nlattr *attribute = find(message, header_n, type);

    assert_non_null(attribute);
    assert_int_equal(mnl_attr_get_payload_len(attribute), 4);
    return mnl_attr_get_u32(attribute);
}

static void assert_payload(const struct nlattr *attribute, const void *expected, size_t n)
{
    assert_non_null(attribute);
    assert_int_equal(mnl_attr_get_payload_len(attribute), n);
    assert_memory_equal(mnl_attr_get_payload(attribute), expected, n);
}

static void assert_header(struct nlmsghdr *message, int type, int flags, const void *header,
                                 size_t n)
{
    assert_non_null(message);
    assert_int_equal(message->nlmsg_type, type);
    assert_int_equal(message->nlmsg_flags, flags | NLM_F_REQUEST);
    assert_true(mnl_nlmsg_get_payload_len(message) >= n);
    assert_memory_equal(mnl_nlmsg_get_payload(message), header, n);
}

/* That the attributes are of these types and no others: -1 at the end. */
static void assert_types(struct nlmsghdr *message, size_t header_n, const int *types)
{
    struct netlink_walk attrs = netlink_attrs(message, header_n);
    const struct nlattr *attribute;

    while ((attribute = netlink_next(&attrs))) {
        assert_int_equal(mnl_attr_get_type(attribute), *types);
        types++;
    }
    assert_int_equal(attrs.left, 0);
    assert_int_equal(*types, -1);
}

#define TYPES(...)                                                                                 \
    (const int[])                                                                                  \
    {                                                                                              \
        __VA_ARGS__, -1                                                                            \
    }
#define RTM sizeof(struct rtmsg)
#define FRH sizeof(struct fib_rule_hdr)
#define IFI sizeof(struct ifinfomsg)

TEST(a_route_is_a_copy_with_the_given_metrics)
{
    const uint32_t lock = 1u << RTAX_MTU | 1u << RTAX_RTO_MIN;
    const struct own_metrics given = { .initcwnd = 36, .mtu_bytes = 1400, .rto_min_ms = 50 };
    struct route own = { .dst = prefix("2001:db8::1"), .table = TABLE, .protocol = PROTOCOL };
    struct route base = { .gateway = prefix("fe80::2"),
                          .prefsrc = prefix("2001:db8::9"),
                          .priority = 100,
                          .ifindex = 3,
                          .is_onlink = true,
                          .metrics.of = { [RTAX_ADVMSS] = 1300, [RTAX_LOCK] = 1u << RTAX_MTU } };
    struct nlmsghdr *message = message_route_put(room(), &own, &base, &given);
    const struct nlattr *put;

    assert_header(message, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE,
                  &(struct rtmsg){ .rtm_family = AF_INET6,
                                   .rtm_dst_len = 128,
                                   .rtm_protocol = PROTOCOL,
                                   .rtm_type = RTN_UNICAST,
                                   .rtm_flags = RTNH_F_ONLINK },
                  RTM);
    assert_types(message, RTM,
                 TYPES(RTA_DST, RTA_TABLE, RTA_PRIORITY, RTA_OIF, RTA_GATEWAY, RTA_PREFSRC,
                       RTA_METRICS));
    assert_payload(find(message, RTM, RTA_GATEWAY), base.gateway.addr, 16);
    assert_payload(find(message, RTM, RTA_PREFSRC), base.prefsrc.addr, 16);
    put = find(message, RTM, RTA_METRICS);
    assert_int_equal(mnl_attr_get_payload_len(put), 40);
    assert_payload(netlink_find(netlink_nested(put), RTAX_INITCWND), &given.initcwnd, 4);
    assert_payload(netlink_find(netlink_nested(put), RTAX_MTU), &given.mtu_bytes, 4);
    assert_payload(netlink_find(netlink_nested(put), RTAX_ADVMSS), &base.metrics.of[RTAX_ADVMSS], 4);
    /* The kernel heeds rto_min only with its lock. */
    assert_payload(netlink_find(netlink_nested(put), RTAX_RTO_MIN), &given.rto_min_ms, 4);
    assert_payload(netlink_find(netlink_nested(put), RTAX_LOCK), &lock, 4);
}

TEST(a_route_with_all_metrics_fits_a_message)
{
    struct route own = { .dst = prefix("2001:db8::1"), .table = TABLE };
    struct route base = { .gateway = own.dst, .prefsrc = own.dst, .priority = 1, .ifindex = 1 };
    struct own_metrics given;

    memset(&base.metrics, 0xff, sizeof(base.metrics));
    memset(&given, 0xff, sizeof(given));
    assert_true(message_route_put(room(), &own, &base, &given)->nlmsg_len <= REQUEST_MAX_BYTES);
}

TEST(a_query_is_of_tcp_or_of_what_passes_our_rule_by)
{
    struct riptide_prefix address = prefix("203.0.113.9");
    struct nlmsghdr *message = message_route_query(room(), &address, true);

    assert_header(message, RTM_GETROUTE, 0,
                  &(struct rtmsg){ .rtm_family = AF_INET,
                                   .rtm_dst_len = 32,
                                   .rtm_flags = RTM_F_FIB_MATCH | RTM_F_LOOKUP_TABLE },
                  RTM);
    assert_types(message, RTM, TYPES(RTA_DST, RTA_IP_PROTO));
    assert_payload(find(message, RTM, RTA_DST), "\xcb\0\x71\x09", 4);
    assert_payload(find(message, RTM, RTA_IP_PROTO), "\x06", 1);
    message = message_route_query(room(), &address, false);
    assert_payload(find(message, RTM, RTA_IP_PROTO), "\x01", 1);

    address = prefix("2001:db8::9");
    message = message_route_query(room(), &address, false);
    assert_header(
        message, RTM_GETROUTE, 0,
        &(struct rtmsg){ .rtm_family = AF_INET6, .rtm_dst_len = 128, .rtm_flags = RTM_F_FIB_MATCH },
        RTM);
    assert_types(message, RTM, TYPES(RTA_DST));
    assert_payload(find(message, RTM, RTA_DST), address.addr, 16);
}

TEST(a_delete_names_exactly_one_route)
{
    struct route route = {
        .dst = prefix("2001:db8:99::/48"),
        .table = TABLE,
        .priority = 1024,
        .tos = 4,
        .protocol = PROTOCOL,
        .metrics.of[RTAX_INITCWND] = 36,
    };
    struct nlmsghdr *message = message_route_delete(room(), &route);

    assert_header(message, RTM_DELROUTE, 0,
                  &(struct rtmsg){ .rtm_family = AF_INET6,
                                   .rtm_dst_len = 48,
                                   .rtm_tos = 4,
                                   .rtm_protocol = PROTOCOL,
                                   .rtm_scope = RT_SCOPE_NOWHERE },
                  RTM);
    assert_types(message, RTM, TYPES(RTA_DST, RTA_TABLE, RTA_PRIORITY));
    assert_int_equal(u32_of(message, RTM, RTA_TABLE), TABLE);
    assert_payload(find(message, RTM, RTA_DST), route.dst.addr, 16);
    assert_int_equal(u32_of(message, RTM, RTA_PRIORITY), 1024);
    route.dst = prefix("203.0.113.9");
    route.priority = 0;
    message = message_route_delete(room(), &route);
    assert_types(message, RTM, TYPES(RTA_DST, RTA_TABLE));
    assert_payload(find(message, RTM, RTA_DST), "\xcb\0\x71\x09", 4);
}

TEST(a_rule_says_nothing_more_than_it_must)
{
    const struct rule rule = { .family = AF_INET6, .priority = 32765, .table = TABLE };
    struct nlmsghdr *message = message_rule(room(), RTM_NEWRULE, &rule);

    assert_types(message, FRH,
                 TYPES(FRA_PRIORITY, FRA_TABLE, FRA_PROTOCOL, FRA_IIFNAME, FRA_IP_PROTO,
                       FRA_SUPPRESS_PREFIXLEN));
    assert_payload(find(message, FRH, FRA_IIFNAME), "lo", 3);
    assert_payload(find(message, FRH, FRA_IP_PROTO), "\6", 1);
    assert_int_equal(u32_of(message, FRH, FRA_SUPPRESS_PREFIXLEN), 127);
    assert_int_equal(message->nlmsg_flags, NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL);
    message = message_rule(room(), RTM_DELRULE, &rule);
    assert_int_equal(message->nlmsg_flags, NLM_F_REQUEST);
}

/* The kernel refuses strict dumps with anything more in the header. */
TEST(dumps_and_short_deletes)
{
    struct nlmsghdr *message = message_dump(room(), RTM_GETRULE, AF_INET6, 0);

    assert_header(message, RTM_GETRULE, NLM_F_DUMP, &(struct fib_rule_hdr){ .family = AF_INET6 },
                  FRH);
    assert_types(message, FRH, TYPES(-1));
    message = message_dump(room(), RTM_GETROUTE, AF_INET, TABLE);
    assert_header(message, RTM_GETROUTE, NLM_F_DUMP, &(struct rtmsg){ .rtm_family = AF_INET }, RTM);
    assert_types(message, RTM, TYPES(RTA_TABLE));
    assert_int_equal(u32_of(message, RTM, RTA_TABLE), TABLE);
    message = message_dump(room(), RTM_GETLINK, AF_UNSPEC, 0);
    assert_header(message, RTM_GETLINK, NLM_F_DUMP, &(struct ifinfomsg){ 0 }, IFI);
    assert_types(message, IFI, TYPES(IFLA_EXT_MASK));
    assert_int_equal(u32_of(message, IFI, IFLA_EXT_MASK), RTEXT_FILTER_SKIP_STATS);
    message = message_dump(room(), RTM_GETNETCONF, AF_INET6, 0);
    assert_header(message, RTM_GETNETCONF, NLM_F_DUMP,
                  &(struct netconfmsg){ .ncm_family = AF_INET6 }, sizeof(struct netconfmsg));
}
