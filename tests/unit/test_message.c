/* SPDX-License-Identifier: MIT */
/*
 * lib/apply/message: requests read back attribute by attribute. That routes of each kind mean what
 * their base does, to our reader and to one that shares nothing with it, is in fuzz/base.c.
 */
#include "apply/message.h"
#include "bytes.h"

#include <linux/fib_rules.h>
#include <linux/if_link.h>
#include <netinet/in.h>

/* Where requests are built one after the other; what is not written there shows. */
static void *room(void)
{
    static struct netlink_room room;

    memset(&room, 0xdd, sizeof(room));
    return &room;
}

enum { TABLE = 7230, PROTOCOL = 230, MARK = 0x72697074 };

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
    struct netlink_attrs attrs = netlink_attrs(message, header_n);
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

static const struct rule_identity identity = { .table = TABLE, .protocol = PROTOCOL, .mark = MARK };

/* Into a room that held something else before, as they are used one after the other. */
static struct nlmsghdr *put_at(const struct base *base, uint32_t table, const char *dst,
                               const struct metrics *metrics)
{
    const struct rule_identity ours = { .table = table, .protocol = PROTOCOL };
    struct riptide_prefix at_dst = prefix(dst);
    static const uint8_t other_header[100];
    void *at = room();

    netlink_begin(at, RTM_DELROUTE, NLM_F_DUMP, other_header, sizeof(other_header));
    return message_route_put(at, &ours, base, &at_dst, metrics);
}

/* For all that the base is for. */
static struct nlmsghdr *put(const struct base *base, uint32_t table, const struct metrics *metrics)
{
    char text[RIPTIDE_PREFIX_TEXT_BYTES];

    riptide_prefix_format(&base->route.dst, text);
    return put_at(base, table, text, metrics);
}

static void add(struct attrs *attrs, int type, const void *payload, size_t n)
{
    struct bytes bytes;

    bytes_begin(&bytes, 0, "", 0);
    bytes_put(&bytes, type, payload, n);
    assert_true(attrs_add(attrs, bytes_header(&bytes)));
}

static void add_u32(struct attrs *attrs, int type, uint32_t value)
{
    add(attrs, type, &value, sizeof(value));
}

static void add_address(struct attrs *attrs, int type, const char *text)
{
    struct riptide_prefix address = prefix(text);

    add(attrs, type, address.addr, address.family == AF_INET ? 4 : 16);
}

static void base_init(struct base *base, const char *match)
{
    memset(base, 0, sizeof(*base));
    base->route.dst = prefix(match);
    base->route.table = RT_TABLE_MAIN;
    base->route.type = RTN_UNICAST;
    base->route.expires_s = ROUTE_NEVER_S;
}

static void init_gateway(struct base *base)
{
    base_init(base, "203.0.113.0/24");
    base->route.priority = 100;
    base->route.metrics.initrwnd = 20;
    base->route.gateway = prefix("192.0.2.254");
    base->route.ifindex = 3;
    add_address(&base->attrs, RTA_GATEWAY, "192.0.2.254");
    add_u32(&base->attrs, RTA_OIF, 3);
    base->route.prefsrc = prefix("192.0.2.1");
    add_address(&base->attrs, RTA_PREFSRC, "192.0.2.1");
    base->route.metrics.locks = 1u << RTAX_MTU;
    base->route.metrics.mtu_bytes = 1400;
}

static struct metrics metrics_on(const struct base *base)
{
    struct metrics metrics = base->route.metrics;

    metrics.initcwnd = 36;
    return metrics;
}

TEST(a_route_is_its_base_and_the_windows)
{
    struct metrics metrics;
    struct nlmsghdr *message;
    struct base base;

    init_gateway(&base);
    metrics = metrics_on(&base);
    message = put_at(&base, TABLE, "203.0.113.9", &metrics);
    assert_header(message, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE,
                  &(struct rtmsg){ .rtm_family = AF_INET,
                                   .rtm_dst_len = 32,
                                   .rtm_protocol = PROTOCOL,
                                   .rtm_type = RTN_UNICAST },
                  RTM);
    assert_types(message, RTM,
                 TYPES(RTA_DST, RTA_TABLE, RTA_PRIORITY, RTA_GATEWAY, RTA_OIF, RTA_PREFSRC,
                       RTA_METRICS));
    assert_int_equal(u32_of(message, RTM, RTA_TABLE), TABLE);
    assert_payload(find(message, RTM, RTA_DST), "\xcb\0\x71\x09", 4);
    assert_int_equal(u32_of(message, RTM, RTA_PRIORITY), 100);
    assert_payload(find(message, RTM, RTA_GATEWAY), "\xc0\0\x02\xfe", 4);
    assert_int_equal(u32_of(message, RTM, RTA_OIF), 3);
    assert_payload(find(message, RTM, RTA_PREFSRC), "\xc0\0\x02\x01", 4);
}

/* Of the message's own; 0: not set. */
static uint32_t metric(const struct nlmsghdr *message, uint16_t type)
{
    const struct nlattr *metrics = find(message, RTM, RTA_METRICS);
    const struct nlattr *found = netlink_find(netlink_nested(metrics), type);
    uint32_t value = 0;

    assert_true(!found || netlink_u32(found, &value));
    return value;
}

TEST(metrics_are_the_bases_and_ours)
{
    struct metrics metrics;
    struct nlmsghdr *message;
    struct base base;

    init_gateway(&base);
    metrics = metrics_on(&base);
    /* What was learned counts, not what the base says. */
    metrics.mtu_bytes = 1300;
    metrics.initrwnd = 100;
    metrics.rto_min_ms = 50;
    metrics.locks |= 1u << RTAX_RTO_MIN;
    message = put(&base, RT_TABLE_MAIN, &metrics);
    assert_int_equal(metric(message, RTAX_LOCK), 1u << RTAX_MTU | 1u << RTAX_RTO_MIN);
    assert_int_equal(metric(message, RTAX_RTO_MIN), 50);
    assert_int_equal(metric(message, RTAX_INITCWND), 36);
    assert_int_equal(metric(message, RTAX_MTU), 1300);
    assert_int_equal(metric(message, RTAX_INITRWND), 100);
    metrics = (struct metrics){ .initcwnd = 36 };
    message = put(&base, RT_TABLE_MAIN, &metrics);
    assert_int_equal(metric(message, RTAX_INITCWND), 36);
    assert_int_equal(metric(message, RTAX_MTU), 0);
    assert_int_equal(metric(message, RTAX_INITRWND), 0);
    assert_int_equal(metric(message, RTAX_RTO_MIN), 0);
}

TEST(the_largest_base_fits_a_message)
{
    enum { HALF = ATTRS_MAX_BYTES / 2 };
    static const uint8_t payload[HALF - 4] = { 0xff, 0xff };
    struct metrics metrics;
    struct nlmsghdr *message;
    struct base base;

    base_init(&base, "2001:db8::1");
    base.route.priority = 100;
    add(&base.attrs, RTA_ENCAP, payload, sizeof(payload));
    add(&base.attrs, RTAX_CC_ALGO, payload, sizeof(payload));
    base.metrics_bytes = HALF;
    metrics = metrics_on(&base);
    metrics.initrwnd = metrics.mtu_bytes = 1;
    message = put(&base, RT_TABLE_MAIN, &metrics);
    assert_non_null(message);
    assert_payload(find(message, RTM, RTA_ENCAP), payload, sizeof(payload));
    assert_int_equal(mnl_attr_get_payload_len(find(message, RTM, RTA_METRICS)), HALF + 24);
}

TEST(a_query_says_mark_and_protocol_where_given)
{
    struct riptide_prefix address = prefix("203.0.113.9");
    struct nlmsghdr *message = message_route_query(room(), &address, MARK, IPPROTO_TCP);

    assert_header(message, RTM_GETROUTE, 0,
                  &(struct rtmsg){ .rtm_family = AF_INET,
                                   .rtm_dst_len = 32,
                                   .rtm_flags = RTM_F_FIB_MATCH | RTM_F_LOOKUP_TABLE },
                  RTM);
    assert_types(message, RTM, TYPES(RTA_DST, RTA_MARK, RTA_IP_PROTO));
    assert_payload(find(message, RTM, RTA_DST), "\xcb\0\x71\x09", 4);
    assert_int_equal(u32_of(message, RTM, RTA_MARK), MARK);
    assert_payload(find(message, RTM, RTA_IP_PROTO), "\x06", 1);

    address = prefix("2001:db8::9");
    message = message_route_query(room(), &address, 0, 0);
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
        .metrics.initcwnd = 36,
    };
    struct nlmsghdr *message = message_route_delete(room(), &route);

    assert_header(message, RTM_DELROUTE, 0,
                  &(struct rtmsg){ .rtm_family = AF_INET6,
                                   .rtm_dst_len = 48,
                                   .rtm_tos = 4,
                                   .rtm_protocol = PROTOCOL,
                                   .rtm_scope = RT_SCOPE_NOWHERE },
                  RTM);
    assert_types(message, RTM, TYPES(RTA_TABLE, RTA_DST, RTA_PRIORITY));
    assert_int_equal(u32_of(message, RTM, RTA_TABLE), TABLE);
    assert_payload(find(message, RTM, RTA_DST), route.dst.addr, 16);
    assert_int_equal(u32_of(message, RTM, RTA_PRIORITY), 1024);
    route.dst = prefix("203.0.113.9");
    route.priority = 0;
    message = message_route_delete(room(), &route);
    assert_types(message, RTM, TYPES(RTA_TABLE, RTA_DST));
    assert_payload(find(message, RTM, RTA_DST), "\xcb\0\x71\x09", 4);
}

TEST(rules_say_nothing_more_than_they_must)
{
    static const struct rule_place place = { .priority = 32765, .main_priority = 32766 };
    struct nlmsghdr *message =
        message_rule(room(), RTM_NEWRULE, AF_INET, &place, RULE_SKIP, &identity);

    assert_types(message, FRH,
                 TYPES(FRA_PRIORITY, FRA_PROTOCOL, FRA_IIFNAME, FRA_IP_PROTO, FRA_GOTO, FRA_FWMARK,
                       FRA_FWMASK));
    assert_payload(find(message, FRH, FRA_IIFNAME), "lo", 3);
    assert_payload(find(message, FRH, FRA_IP_PROTO), "\6", 1);
    assert_int_equal(u32_of(message, FRH, FRA_FWMARK), MARK);
    assert_int_equal(u32_of(message, FRH, FRA_FWMASK), UINT32_MAX);
    message = message_rule(room(), RTM_NEWRULE, AF_INET, &place, RULE_LOOKUP, &identity);
    assert_types(message, FRH,
                 TYPES(FRA_PRIORITY, FRA_PROTOCOL, FRA_IIFNAME, FRA_IP_PROTO, FRA_TABLE));
}

/* Somebody else's rule may look up our table: the kernel takes the first that fits. */
TEST(a_rule_is_deleted_by_all_that_it_was_added_with)
{
    static const struct rule_place place = { .priority = 32765, .main_priority = 32766 };

    for (enum rule_role role = RULE_SKIP; role <= RULE_LOOKUP; role++) {
        struct netlink_room other;
        struct nlmsghdr *added =
            message_rule(&other, RTM_NEWRULE, AF_INET6, &place, role, &identity);
        struct nlmsghdr *message =
            message_rule(room(), RTM_DELRULE, AF_INET6, &place, role, &identity);

        assert_int_equal(message->nlmsg_type, RTM_DELRULE);
        assert_int_equal(message->nlmsg_flags, NLM_F_REQUEST);
        assert_int_equal(message->nlmsg_len, added->nlmsg_len);
        assert_memory_equal(message + 1, added + 1, added->nlmsg_len - sizeof(*added));
    }
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
    message = message_link_query(room(), 3);
    assert_header(message, RTM_GETLINK, 0, &(struct ifinfomsg){ .ifi_index = 3 }, IFI);
    assert_types(message, IFI, TYPES(IFLA_EXT_MASK));
    message = message_lookup_delete(room(), AF_INET, TABLE);
    assert_header(message, RTM_DELRULE, 0,
                  &(struct fib_rule_hdr){ .family = AF_INET, .action = FR_ACT_TO_TBL }, FRH);
    assert_types(message, FRH, TYPES(FRA_TABLE));
    assert_int_equal(u32_of(message, FRH, FRA_TABLE), TABLE);
}
