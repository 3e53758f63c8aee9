/* SPDX-License-Identifier: MIT */
/*
 * lib/apply/base: what is carried over of a base route, attribute by attribute in the order of the
 * kernel's fib_dump_info and rt6_fill_node, and answers that give none, some of which no kernel
 * sends. What every route message must be is in test_route.c.
 */
#include "apply/base.h"
#include "bytes.h"

#include <errno.h>

enum { UNKNOWN = 250, PAYLOAD_MAX = ATTRS_MAX_BYTES - 4 };

static const char malformed[] = "the kernel's answer makes no sense";
static const char no_room[] = "its base route has more attributes than fit";

static struct rtmsg *rtm(struct bytes *answer)
{
    return bytes_header(answer);
}

/* A unicast route of main, up to what makes its next hop. */
static void begin(struct bytes *answer, const char *match)
{
    struct riptide_prefix dst = prefix(match);
    const struct rtmsg header = { .rtm_family = dst.family,
                                  .rtm_dst_len = dst.len,
                                  .rtm_table = RT_TABLE_MAIN,
                                  .rtm_protocol = RTPROT_STATIC,
                                  .rtm_type = RTN_UNICAST };

    bytes_begin(answer, RTM_NEWROUTE, &header, sizeof(header));
    bytes_put_u32(answer, RTA_TABLE, RT_TABLE_MAIN);
    if (dst.len > 0)
        bytes_put(answer, RTA_DST, dst.addr, dst.family == AF_INET ? 4 : 16);
}

static void begin_gateway(struct bytes *answer)
{
    begin(answer, "0.0.0.0/0");
    bytes_put_u32(answer, RTA_PRIORITY, 100);
    bytes_put_address(answer, RTA_PREFSRC, "192.0.2.1");
    bytes_put_address(answer, RTA_GATEWAY, "192.0.2.254");
    bytes_put_u32(answer, RTA_OIF, 3);
}

static void put_metric(struct bytes *answer, int type, uint32_t value)
{
    size_t metrics = bytes_nest(answer, RTA_METRICS);

    bytes_put_u32(answer, type, value);
    bytes_nest_end(answer, metrics);
}

static void put_expiry(struct bytes *answer, int32_t hundredths)
{
    const struct rta_cacheinfo cacheinfo = { .rta_expires = hundredths };

    bytes_put(answer, RTA_CACHEINFO, &cacheinfo, sizeof(cacheinfo));
}

/* One hop of a multipath route through a gateway. */
static void put_hop(struct bytes *answer, uint8_t flags, uint8_t weight, int ifindex,
                           const char *gateway)
{
    struct nlmsghdr *message = bytes_message(answer);
    const struct rtnexthop hop = { .rtnh_len = sizeof(hop) + 8,
                                   .rtnh_flags = flags,
                                   .rtnh_hops = (uint8_t)(weight - 1),
                                   .rtnh_ifindex = ifindex };

    memcpy(answer->data + message->nlmsg_len, &hop, sizeof(hop));
    message->nlmsg_len += (uint32_t)sizeof(hop);
    bytes_put_address(answer, RTA_GATEWAY, gateway);
}

static void put_hops(struct bytes *answer, uint8_t flags, uint8_t weight)
{
    size_t multipath = bytes_nest(answer, RTA_MULTIPATH);

    put_hop(answer, flags, weight, 3, "192.0.2.254");
    put_hop(answer, 0, 1, 5, "198.51.100.254");
    bytes_nest_end(answer, multipath);
}

/* That a base is to have. */
enum { LEAST_LIFE_S = 10 };

/* Over bytes that are not zero: base_equal compares padding, too. */
static const char *parse(struct base *base, struct bytes *answer, const char *dst)
{
    struct riptide_prefix asked = prefix(dst);
    const char *reason = "not written";
    bool is_base;

    memset(base, 0xa5, sizeof(*base));
    is_base = base_parse(base, &asked, bytes_message(answer), LEAST_LIFE_S, &reason);
    assert_int_equal(is_base, !reason);
    return reason;
}

static struct base *parsed(struct bytes *answer, const char *dst)
{
    /* More than any test makes. */
    static struct base bases[16];
    static unsigned int turn;
    struct base *base = &bases[turn++ % 16];

    assert_null(parse(base, answer, dst));
    return base;
}

static void assert_reason(struct bytes *answer, const char *dst, const char *expected)
{
    struct base base;
    const char *reason = parse(&base, answer, dst);

    assert_non_null(reason);
    assert_string_equal(reason, expected);
}

/* That what is carried over is this, in this order: types of attributes, metrics last, -1 at the
 * end. */
static void assert_attrs(const struct base *base, const int *types)
{
    size_t at = 0;

    for (; *types >= 0; types++) {
        uint16_t header[2];

        assert_true(at < base->attrs.n_bytes);
        memcpy(header, base->attrs.bytes + at, sizeof(header));
        assert_int_equal(header[1] & NLA_TYPE_MASK, *types);
        at += NLMSG_ALIGN(header[0]);
    }
    assert_int_equal(base->attrs.n_bytes, at);
}

#define TYPES(...)                                                                                 \
    (const int[])                                                                                  \
    {                                                                                              \
        __VA_ARGS__, -1                                                                            \
    }

static void assert_prefix(const struct riptide_prefix *actual, const char *text)
{
    struct riptide_prefix expected = prefix(text);

    assert_memory_equal(actual, &expected, sizeof(expected));
}

TEST(a_gateway_and_its_source)
{
    static const uint8_t hop[] = { 192, 0, 2, 254 };
    struct bytes answer;
    struct base *base;

    begin_gateway(&answer);
    base = parsed(&answer, "203.0.113.9");
    assert_prefix(&base->route.dst, "0.0.0.0/0");
    assert_prefix(&base->route.gateway, "192.0.2.254");
    assert_int_equal(base->route.ifindex, 3);
    assert_int_equal(base->route.priority, 100);
    assert_int_equal(base->route.scope, RT_SCOPE_UNIVERSE);
    assert_int_equal(base->route.metrics.initrwnd, 0);
    assert_int_equal(base->route.metrics.mtu_bytes, 0);
    assert_false(base->route.is_onlink || base->is_multipath);
    assert_int_equal(base->route.expires_s, ROUTE_NEVER_S);
    assert_attrs(base, TYPES(RTA_PREFSRC, RTA_GATEWAY, RTA_OIF));
    assert_memory_equal(base->attrs.bytes + 12, hop, sizeof(hop));
    assert_int_equal(base->metrics_bytes, 0);
}

TEST(on_link_has_no_gateway)
{
    struct bytes answer;
    struct base *base;

    begin(&answer, "192.0.2.0/24");
    rtm(&answer)->rtm_scope = RT_SCOPE_LINK;
    bytes_put_address(&answer, RTA_PREFSRC, "192.0.2.1");
    bytes_put_u32(&answer, RTA_OIF, 3);
    base = parsed(&answer, "192.0.2.77");
    assert_prefix(&base->route.dst, "192.0.2.0/24");
    assert_int_equal(base->route.scope, RT_SCOPE_LINK);
    assert_int_equal(base->route.gateway.family, 0);
    assert_int_equal(base->route.ifindex, 3);
    assert_attrs(base, TYPES(RTA_PREFSRC, RTA_OIF));
}

TEST(flags_of_the_moment_make_no_difference)
{
    struct base *plain, *base;
    struct bytes answer;

    begin_gateway(&answer);
    plain = parsed(&answer, "203.0.113.9");
    rtm(&answer)->rtm_flags = RTNH_F_DEAD | RTNH_F_LINKDOWN | RTNH_F_OFFLOAD | RTM_F_OFFLOAD;
    base = parsed(&answer, "203.0.113.9");
    assert_true(base_equal(plain, base));
    rtm(&answer)->rtm_flags = RTNH_F_ONLINK | RTNH_F_LINKDOWN;
    base = parsed(&answer, "203.0.113.9");
    assert_true(base->route.is_onlink);
    assert_false(base_equal(plain, base));
}

TEST(several_hops_go_with_their_weights)
{
    struct bytes answer;
    struct base *base;

    begin(&answer, "10.1.0.0/16");
    put_hops(&answer, 0, 3);
    base = parsed(&answer, "10.1.0.1");
    assert_true(base->is_multipath);
    assert_int_equal(base->route.gateway.family, 0);
    assert_int_equal(base->route.ifindex, 0);
    assert_int_equal(base->attrs.n_bytes, 36);
    assert_memory_equal(base->attrs.bytes, answer.data + bytes_message(&answer)->nlmsg_len - 36,
                        36);
}

TEST(hop_flags_of_the_moment_make_no_difference)
{
    struct base *plain, *base;
    struct bytes answer;

    begin(&answer, "10.1.0.0/16");
    put_hops(&answer, 0, 3);
    plain = parsed(&answer, "10.1.0.1");
    begin(&answer, "10.1.0.0/16");
    put_hops(&answer, RTNH_F_DEAD | RTNH_F_LINKDOWN | RTNH_F_OFFLOAD | RTNH_F_UNRESOLVED, 3);
    base = parsed(&answer, "10.1.0.1");
    assert_true(base_equal(plain, base));
    begin(&answer, "10.1.0.0/16");
    put_hops(&answer, RTNH_F_DEAD | RTNH_F_ONLINK, 3);
    base = parsed(&answer, "10.1.0.1");
    assert_false(base_equal(plain, base));
    begin(&answer, "10.1.0.0/16");
    put_hops(&answer, 0, 4);
    base = parsed(&answer, "10.1.0.1");
    assert_false(base_equal(plain, base));
}

TEST(v4_through_a_v6_next_hop)
{
    const struct {
        uint16_t family;
        uint8_t address[16];
    } via = { AF_INET6, { 0xfe, 0x80, [15] = 1 } };
    struct bytes answer;
    struct base *base;

    begin(&answer, "10.2.0.0/16");
    bytes_put(&answer, RTA_VIA, &via, sizeof(via));
    bytes_put_u32(&answer, RTA_OIF, 3);
    base = parsed(&answer, "10.2.0.1");
    assert_prefix(&base->route.dst, "10.2.0.0/16");
    assert_prefix(&base->route.gateway, "fe80::1");
    assert_attrs(base, TYPES(RTA_VIA, RTA_OIF));
}

TEST(the_hop_of_an_object_is_carried_without_it)
{
    struct bytes answer;
    struct base *base;

    begin(&answer, "10.3.0.0/16");
    rtm(&answer)->rtm_flags = RTNH_F_ONLINK;
    bytes_put_address(&answer, RTA_PREFSRC, "192.0.2.1");
    bytes_put_u32(&answer, RTA_NH_ID, 7);
    bytes_put_address(&answer, RTA_GATEWAY, "192.0.2.253");
    bytes_put_u32(&answer, RTA_OIF, 3);
    base = parsed(&answer, "10.3.0.1");
    assert_true(base->route.is_onlink);
    assert_attrs(base, TYPES(RTA_PREFSRC, RTA_GATEWAY, RTA_OIF));
}

TEST(encapsulation_goes_with_the_hop)
{
    static const uint8_t segments[] = { 0x20, 0, 1, 0, 1, 0, 0, 0 };
    static const uint8_t seg6[] = { 5, 0 };
    struct bytes answer;
    struct base *base;

    begin(&answer, "2001:db8:98::/48");
    bytes_put_u32(&answer, RTA_PRIORITY, 1024);
    bytes_put_address(&answer, RTA_GATEWAY, "fe80::2");
    bytes_put_u32(&answer, RTA_OIF, 3);
    bytes_put(&answer, RTA_ENCAP | NLA_F_NESTED, segments, sizeof(segments));
    bytes_put(&answer, RTA_ENCAP_TYPE, seg6, sizeof(seg6));
    base = parsed(&answer, "2001:db8:98::1");
    assert_attrs(base, TYPES(RTA_GATEWAY, RTA_OIF, RTA_ENCAP, RTA_ENCAP_TYPE));
}

TEST(metrics_go_without_those_that_we_set)
{
    struct bytes answer;
    struct base *base;
    size_t metrics;

    begin_gateway(&answer);
    metrics = bytes_nest(&answer, RTA_METRICS);
    bytes_put_u32(&answer, RTAX_LOCK, 1u << RTAX_MTU);
    bytes_put_u32(&answer, RTAX_MTU, 1400);
    bytes_put_u32(&answer, RTAX_INITCWND, 30);
    bytes_put_u32(&answer, RTAX_INITRWND, 20);
    bytes_put_u32(&answer, RTAX_RTO_MIN, 50);
    bytes_put(&answer, RTAX_CC_ALGO, "reno", 5);
    bytes_nest_end(&answer, metrics);
    base = parsed(&answer, "203.0.113.9");
    assert_attrs(base, TYPES(RTA_PREFSRC, RTA_GATEWAY, RTA_OIF, RTAX_CC_ALGO));
    assert_int_equal(base->metrics_bytes, 12);
    assert_int_equal(base->route.metrics.locks, 1u << RTAX_MTU);
    assert_int_equal(base->route.metrics.rto_min_ms, 50);
    assert_int_equal(base->route.metrics.initcwnd, 30);
    assert_int_equal(base->route.metrics.initrwnd, 20);
    assert_int_equal(base->route.metrics.mtu_bytes, 1400);
}

TEST(expiry_is_not_copied)
{
    static const int32_t hundredths[] = { 0, -1, 100 * LEAST_LIFE_S, 29990, INT32_MAX };

    for (size_t i = 0; i < sizeof(hundredths) / sizeof(*hundredths); i++) {
        struct bytes answer;
        struct base base;

        begin(&answer, "2001:db8:99::/48");
        put_expiry(&answer, hundredths[i]);
        bytes_put_u8(&answer, RTA_PREF, 1);
        assert_null(parse(&base, &answer, "2001:db8:99::1"));
        assert_int_equal(base.route.expires_s != ROUTE_NEVER_S, hundredths[i] > 0);
        assert_attrs(&base, TYPES(RTA_PREF));
    }
}

TEST(unknown_attributes_are_carried)
{
    struct bytes answer;
    struct base *base;

    begin_gateway(&answer);
    bytes_put(&answer, UNKNOWN, "\1\2\3\4\5", 5);
    base = parsed(&answer, "203.0.113.9");
    assert_attrs(base, TYPES(RTA_PREFSRC, RTA_GATEWAY, RTA_OIF, UNKNOWN));
    assert_memory_equal(base->attrs.bytes + 28, "\1\2\3\4\5\0\0\0", 8);
}

/* Everything that tells one base from another, each alone. */
enum difference {
    NO_DIFFERENCE,
    OTHER_EXPIRY,
    SAME = OTHER_EXPIRY,
    OTHER_MATCH,
    OTHER_SCOPE,
    OTHER_PRIORITY,
    OTHER_SOURCE,
    OTHER_MTU,
    OTHER_METRIC,
    OTHER_INITRWND,
    OTHER_INITCWND,
    NO_EXPIRY,
    ONE_UNKNOWN,
    OTHER_GATEWAY,
    OTHER_DEVICE,
    ONLINK,
    DIFFERENCES
};

static void begin_different(struct bytes *answer, int which)
{
    size_t metrics;

    begin(answer, which == OTHER_MATCH ? "10.0.0.0/9" : "10.0.0.0/8");
    rtm(answer)->rtm_scope = which == OTHER_SCOPE ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
    rtm(answer)->rtm_flags = which == ONLINK ? RTNH_F_ONLINK : 0;
    bytes_put_u32(answer, RTA_PRIORITY, which == OTHER_PRIORITY ? 101 : 100);
    metrics = bytes_nest(answer, RTA_METRICS);
    bytes_put_u32(answer, RTAX_MTU, which == OTHER_MTU ? 1399 : 1400);
    bytes_put_u32(answer, RTAX_ADVMSS, which == OTHER_METRIC ? 1359 : 1360);
    bytes_put_u32(answer, RTAX_INITCWND, which == OTHER_INITCWND ? 31 : 30);
    bytes_put_u32(answer, RTAX_INITRWND, which == OTHER_INITRWND ? 21 : 20);
    bytes_nest_end(answer, metrics);
    bytes_put_address(answer, RTA_PREFSRC, which == OTHER_SOURCE ? "192.0.2.2" : "192.0.2.1");
    bytes_put_address(answer, RTA_GATEWAY, which == OTHER_GATEWAY ? "192.0.2.253" : "192.0.2.254");
    bytes_put_u32(answer, RTA_OIF, which == OTHER_DEVICE ? 4 : 3);
    put_expiry(answer, which == NO_EXPIRY ? 0 : which == OTHER_EXPIRY ? 2000 : 30000);
    if (which == ONE_UNKNOWN)
        bytes_put_u8(answer, UNKNOWN, 1);
}

TEST(equal_is_what_means_the_same)
{
    struct base *plain, *base;
    struct bytes answer;

    begin_different(&answer, NO_DIFFERENCE);
    plain = parsed(&answer, "10.1.0.1");
    for (int which = 0; which < DIFFERENCES; which++) {
        begin_different(&answer, which);
        base = parsed(&answer, "10.1.0.1");
        if (base_equal(plain, base) != (which <= SAME))
            fail_msg("difference number %d", which);
    }
}

TEST(several_v6_routes_are_left_alone)
{
    struct bytes answer;

    begin(&answer, "2001:db8:97::/48");
    put_hops(&answer, 0, 1);
    assert_reason(&answer, "2001:db8:97::1", "its base route is made of several IPv6 routes");
}

TEST(hops_whose_lengths_lie_are_refused)
{
    for (uint32_t claimed = 0; claimed <= 64; claimed++) {
        uint16_t len = (uint16_t)claimed;
        struct bytes answer;
        size_t first;

        begin(&answer, "10.1.0.0/16");
        first = bytes_message(&answer)->nlmsg_len + 4;
        put_hops(&answer, 0, 1);
        memcpy(answer.data + first, &len, sizeof(len));
        if (len < sizeof(struct rtnexthop) || len > 32)
            assert_reason(&answer, "10.1.0.1", malformed);
        /* A hop that ends where its gateway begins leaves bytes that are none. */
        if (len == 12)
            assert_reason(&answer, "10.1.0.1", malformed);
    }
}

/* net.ipv4.nexthop_compat_mode decides whether the kernel shows them. */
TEST(objects_of_many_hops_or_unseen_ones_are_left_alone)
{
    static const char group[] = "its base route leads through a next-hop group";
    static const char unseen[] = "the kernel does not show the hop of its next-hop object";
    struct bytes answer;

    begin(&answer, "10.3.0.0/16");
    bytes_put_address(&answer, RTA_PREFSRC, "192.0.2.1");
    bytes_put_u32(&answer, RTA_NH_ID, 7);
    assert_reason(&answer, "10.3.0.1", unseen);
    put_hops(&answer, 0, 4);
    assert_reason(&answer, "10.3.0.1", group);
    begin(&answer, "2001:db8:97::/48");
    bytes_put_u32(&answer, RTA_NH_ID, 7);
    assert_reason(&answer, "2001:db8:97::1", unseen);
    put_hops(&answer, 0, 4);
    assert_reason(&answer, "2001:db8:97::1", group);
}

TEST(locked_windows_are_left_alone)
{
    static const struct {
        uint32_t lock;
        bool is_ours;
    } cases[] = { { 1u << RTAX_INITCWND, true },
                  { 1u << RTAX_INITRWND, true },
                  { 1u << RTAX_MTU | 1u << RTAX_INITCWND, true },
                  { ~(1u << RTAX_INITCWND | 1u << RTAX_INITRWND), false } };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct bytes answer;

        begin_gateway(&answer);
        put_metric(&answer, RTAX_LOCK, cases[i].lock);
        if (cases[i].is_ours)
            assert_reason(&answer, "203.0.113.9", "its base route locks initcwnd or initrwnd");
        else
            parsed(&answer, "203.0.113.9");
    }
}

TEST(an_mtu_that_would_be_cut_down_is_left_alone)
{
    struct bytes answer;

    begin_gateway(&answer);
    put_metric(&answer, RTAX_MTU, 65521);
    assert_reason(&answer, "203.0.113.9",
                  "its base route has a larger mtu than can be given to another");
    begin_gateway(&answer);
    put_metric(&answer, RTAX_MTU, 65520);
    assert_int_equal(parsed(&answer, "203.0.113.9")->route.metrics.mtu_bytes, 65520);
}

/* Ours has no lifetime, and is to go before it. */
TEST(a_base_about_to_expire_is_left_alone)
{
    struct bytes answer;

    begin(&answer, "2001:db8:99::/48");
    put_expiry(&answer, 100 * LEAST_LIFE_S - 1);
    assert_reason(&answer, "2001:db8:99::1", base_ending);
}

TEST(more_attributes_than_fit_are_refused)
{
    static const int types[] = { RTA_ENCAP, UNKNOWN, RTA_MULTIPATH };
    static const uint8_t payload[PAYLOAD_MAX + 4];

    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        struct bytes answer;

        begin(&answer, "10.1.0.0/16");
        bytes_put(&answer, types[i], payload, PAYLOAD_MAX);
        /* Zeros are attributes to nobody, but no hops. */
        if (types[i] == RTA_MULTIPATH)
            assert_reason(&answer, "10.1.0.1", malformed);
        else
            parsed(&answer, "10.1.0.1");
        begin(&answer, "10.1.0.0/16");
        bytes_put(&answer, types[i], payload, PAYLOAD_MAX + 1);
        assert_reason(&answer, "10.1.0.1", no_room);
        begin(&answer, "10.1.0.0/16");
        bytes_put(&answer, types[i], payload, PAYLOAD_MAX - 4);
        bytes_put(&answer, types[i] == RTA_ENCAP ? RTA_OIF : RTA_PREFSRC, payload, 4);
        assert_reason(&answer, "10.1.0.1", types[i] == RTA_MULTIPATH ? malformed : no_room);
    }
}

TEST(more_metrics_than_fit_are_refused)
{
    enum { OTHERS = 24, ROOM = PAYLOAD_MAX - OTHERS };
    static const uint8_t payload[PAYLOAD_MAX];

    for (size_t n = ROOM; n <= ROOM + 4; n += 4) {
        struct bytes answer;
        size_t metrics;

        begin_gateway(&answer);
        metrics = bytes_nest(&answer, RTA_METRICS);
        bytes_put(&answer, RTAX_CC_ALGO, payload, n);
        bytes_nest_end(&answer, metrics);
        if (n == ROOM)
            parsed(&answer, "203.0.113.9");
        else
            assert_reason(&answer, "203.0.113.9", no_room);
    }
}

TEST(every_errno_has_its_reason)
{
    static const char denied[] = "its base route is blackhole, unreachable or prohibit";
    static const char refused[] = "the kernel refused the route query";

    for (int number = 0; number <= 133; number++) {
        const struct nlmsgerr error = { .error = -number };
        const char *expected = refused;
        struct bytes answer;

        if (number == ENETUNREACH)
            expected = "there is no route to it";
        else if (number == EINVAL || number == EHOSTUNREACH || number == EACCES)
            expected = denied;
        bytes_begin(&answer, NLMSG_ERROR, &error, sizeof(error));
        assert_reason(&answer, "10.6.0.1", expected);
        bytes_message(&answer)->nlmsg_len--;
        assert_reason(&answer, "10.6.0.1", malformed);
    }
}

TEST(only_unicast_is_ours)
{
    struct bytes answer;

    for (unsigned int type = 0; type < 256; type++) {
        begin(&answer, "192.0.2.1");
        rtm(&answer)->rtm_type = (uint8_t)type;
        bytes_put_u32(&answer, RTA_OIF, 3);
        if (type == RTN_UNICAST)
            parsed(&answer, "192.0.2.1");
        else
            assert_reason(&answer, "192.0.2.1",
                          type == RTN_LOCAL ? "it is an address of this host"
                                            : "its base route is not unicast");
    }
}

TEST(what_is_the_hosts_own_is_named_for_hosts_and_prefixes)
{
    struct bytes answer;

    begin(&answer, "192.0.2.0/25");
    rtm(&answer)->rtm_type = RTN_LOCAL;
    assert_reason(&answer, "192.0.2.1", "it is an address of this host");
    assert_reason(&answer, "192.0.2.0/26", "its addresses are this host's own");
    assert_reason(&answer, "192.0.2.0/24", "an address of this host lies in it");
}

TEST(only_main_is_ours)
{
    static const char other_table[] = "a rule sends it to another table than main";
    static const uint32_t tables[] = { 0, 100, RT_TABLE_DEFAULT, RT_TABLE_LOCAL, 254 + 256, 7230 };
    struct bytes answer;

    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
        begin_gateway(&answer);
        bytes_put_u32(&answer, RTA_TABLE, tables[i]);
        assert_reason(&answer, "203.0.113.9", other_table);
    }
}

TEST(routes_that_choose_by_more_than_the_destination)
{
    static const char by_packet[] = "its base route depends on tos or source";
    struct bytes answer;

    begin_gateway(&answer);
    rtm(&answer)->rtm_tos = 4;
    assert_reason(&answer, "203.0.113.9", by_packet);
    begin_gateway(&answer);
    rtm(&answer)->rtm_src_len = 1;
    assert_reason(&answer, "203.0.113.9", by_packet);
}

TEST(routes_that_do_not_hold_all_that_was_asked)
{
    static const char inside[] = "main has more specific routes inside it";
    struct bytes answer;

    begin(&answer, "10.1.2.0/24");
    bytes_put_u32(&answer, RTA_OIF, 3);
    parsed(&answer, "10.1.2.0/24");
    parsed(&answer, "10.1.2.3");
    assert_reason(&answer, "10.1.2.0/23", inside);
    assert_reason(&answer, "10.0.0.0/8", inside);
}

TEST(answers_for_another_destination_are_malformed)
{
    struct bytes answer;

    begin(&answer, "198.51.100.0/24");
    assert_reason(&answer, "203.0.113.9/32", malformed);
    ((struct rtmsg *)bytes_header(&answer))->rtm_type = RTN_LOCAL;
    assert_reason(&answer, "203.0.113.9/32", malformed);
    assert_reason(&answer, "2001:db8::1", malformed);
    begin(&answer, "2001:db8::/32");
    assert_reason(&answer, "2001:db9::/48", malformed);
}

TEST(other_messages_are_malformed)
{
    static const uint16_t types[] = { RTM_DELROUTE, RTM_GETROUTE, RTM_NEWLINK, NLMSG_DONE };
    struct bytes answer;

    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        begin_gateway(&answer);
        bytes_message(&answer)->nlmsg_type = types[i];
        assert_reason(&answer, "203.0.113.9", malformed);
    }
}

static void begin_with_all(struct bytes *answer)
{
    size_t metrics;

    begin_gateway(answer);
    metrics = bytes_nest(answer, RTA_METRICS);
    bytes_put_u32(answer, RTAX_LOCK, 1u << RTAX_MTU);
    bytes_put_u32(answer, RTAX_MTU, 1400);
    bytes_nest_end(answer, metrics);
    put_hops(answer, 0, 2);
    put_expiry(answer, 100);
    bytes_put(answer, UNKNOWN, "\1\2\3\4\5", 5);
}

static bool parses(const struct nlmsghdr *message)
{
    struct riptide_prefix dst = prefix("203.0.113.9");
    const char *reason;
    struct base base;

    return base_parse(&base, &dst, message, 1, &reason);
}

TEST(a_cut_inside_an_attribute_is_malformed)
{
    struct bytes answer;

    begin_with_all(&answer);
    bytes_check_cuts(&answer, sizeof(struct rtmsg), parses);
}
