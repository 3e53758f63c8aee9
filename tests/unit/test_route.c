/* SPDX-License-Identifier: MIT */
/*
 * lib/route, lib/apply/routes/message: base routes from answers as the kernel's fib_dump_info and
 * rt6_fill_node send them, and such that no kernel sends; requests as far as the kernel does not
 * show them.
 * fuzz/event.c holds the figures of a route against another reader.
 */
#include "apply/routes/message.h"
#include "bytes.h"

enum { UNKNOWN = 250, LEAST_LIFE_S = 90 };

static const struct bytes_route gateway = { .dst = "0.0.0.0/0",
                                            .priority = 100,
                                            .prefsrc = "192.0.2.1",
                                            .gateway = "192.0.2.254",
                                            .ifindex = 3 };

/* Over bytes that are not zero: bases are compared with their padding. */
static enum riptide_reason parse(struct route *base, struct bytes *answer, const char *dst)
{
    memset(base, 0xa5, sizeof(*base));
    return base_parse(base, prefix_at(dst), bytes_message(answer));
}

/* That `dst` has no base, for this reason; or has one. */
static void assert_reason(struct bytes *answer, const char *dst, enum riptide_reason expected)
{
    struct route base;

    assert_int_equal(parse(&base, answer, dst), expected);
}

static bool is_same(const struct bytes_route *one, const struct bytes_route *other)
{
    struct bytes answers[2];
    struct route bases[2];

    bytes_put_route(&answers[0], one);
    bytes_put_route(&answers[1], other);
    assert_null(parse(&bases[0], &answers[0], "10.1.0.1"));
    assert_null(parse(&bases[1], &answers[1], "10.1.0.1"));
    return memcmp(&bases[0], &bases[1], sizeof(bases[0])) == 0;
}

/* Changed one by one. */
TEST(bases_are_equal_where_they_mean_the_same)
{
    struct bytes_route plain = gateway, other;
    uint32_t *const figures[] = { &other.scope,
                                  &other.priority,
                                  &other.ifindex,
                                  &other.metrics[RTAX_MTU],
                                  &other.metrics[RTAX_ADVMSS],
                                  &other.metrics[RTAX_INITCWND],
                                  &other.metrics[RTAX_INITRWND],
                                  &other.metrics[RTAX_HOPLIMIT] };
    const char **const addresses[] = { &other.prefsrc, &other.gateway };

    plain.metrics[RTAX_MTU] = 1400;
    plain.metrics[RTAX_INITRWND] = 20;
    plain.expires_hundredths = 30000;
    other = plain;
    /* Main's prefix, what is of the moment, and the object that the hop is of. */
    other.dst = "10.1.0.0/16";
    other.expires_hundredths = 0;
    other.protocol = 16;
    other.nh_id = 7;
    other.flags = RTNH_F_DEAD | RTNH_F_LINKDOWN | RTNH_F_OFFLOAD | RTM_F_OFFLOAD | RTM_F_CLONED;
    assert_true(is_same(&plain, &other));
    other.flags = RTNH_F_ONLINK | RTNH_F_LINKDOWN;
    assert_false(is_same(&plain, &other));
    EACH(figure, figures) {
        other = plain;
        ++**figure;
        assert_row(!is_same(&plain, &other));
    }
    EACH(address, addresses) {
        other = plain;
        **address = "10.1.0.0/16";
        assert_row(!is_same(&plain, &other));
    }
}

/* Among the metrics, or beside them. */
static void put_figure(struct bytes *bytes, bool is_metric, int type, const void *payload, size_t n)
{
    struct nlattr *metrics = is_metric ? bytes_nest(bytes, RTA_METRICS) : NULL;

    bytes_put(bytes, type, payload, n);
    if (metrics)
        mnl_attr_nest_end(bytes_message(bytes), metrics);
}

TEST(attribute_that_is_not_copied_is_a_reason)
{
    static const struct {
        int type;
        uint32_t value;
        size_t n;
        bool is_metric;
        enum riptide_reason reason;
    } cases[] = {
        { RTA_ENCAP, 1, 4, false, RIPTIDE_REASON_BASE_ATTRIBUTE },
        { RTA_FLOW, 1, 4, false, RIPTIDE_REASON_BASE_ATTRIBUTE },
        { RTA_VIA, 1, 4, false, RIPTIDE_REASON_BASE_ATTRIBUTE }, /* a hop of the other family */
        { UNKNOWN, 1, 4, false, RIPTIDE_REASON_BASE_ATTRIBUTE },
        { RTA_PREF, 0, 1, false, RIPTIDE_REASON_NONE },
        { RTA_PREF, 1, 1, false, RIPTIDE_REASON_BASE_ATTRIBUTE },
        { RTAX_CC_ALGO, 0, 4, true, RIPTIDE_REASON_BASE_ATTRIBUTE },
        { RTAX_MAX + 1, 1, 4, true, RIPTIDE_REASON_BASE_ATTRIBUTE },
    };

    EACH(row, cases) {
        struct bytes answer;

        bytes_put_route(&answer, &gateway);
        put_figure(&answer, row->is_metric, row->type, &row->value, row->n);
        assert_reason(&answer, "203.0.113.9", row->reason);
    }
}

/* What is left alone, and what is not: no reason. */
TEST(route_that_is_no_base_has_a_reason)
{
    /* net.ipv4.nexthop_compat_mode decides whether the kernel shows the hops of an object. */
    static const char other[] = "198.51.100.0/24", any[] = "0.0.0.0/0";
    static const struct {
        struct bytes_route route;
        const char *dst;
        enum riptide_reason reason;
    } cases[] = {
        { { .dst = "10.3.0.0/16", .is_multipath = true },
          "10.3.0.1",
          RIPTIDE_REASON_BASE_MULTIPATH },
        { { .dst = "10.3.0.0/16", .prefsrc = "192.0.2.1", .nh_id = 7 },
          "10.3.0.1",
          RIPTIDE_REASON_BASE_HIDES_HOP },
        { { .dst = any, .metrics[RTAX_LOCK] = 1u << RTAX_INITCWND },
          "10.6.0.1",
          RIPTIDE_REASON_BASE_LOCKS },
        { { .dst = any, .metrics[RTAX_LOCK] = 1u << RTAX_INITRWND },
          "10.6.0.1",
          RIPTIDE_REASON_BASE_LOCKS },
        { { .dst = any, .metrics[RTAX_LOCK] = 1u << RTAX_MTU | 1u << RTAX_INITCWND },
          "10.6.0.1",
          RIPTIDE_REASON_BASE_LOCKS },
        { { .dst = any,
            .ifindex = 3,
            .metrics[RTAX_LOCK] = ~(1u << RTAX_INITCWND | 1u << RTAX_INITRWND) },
          "10.6.0.1",
          RIPTIDE_REASON_NONE },
        { { .dst = any, .metrics[RTAX_MTU] = 65521 }, "10.6.0.1", RIPTIDE_REASON_BASE_LARGE_MTU },
        { { .dst = any, .ifindex = 3, .metrics[RTAX_MTU] = 65520 },
          "10.6.0.1",
          RIPTIDE_REASON_NONE },
        /* ours has no lifetime, and is to go before it */
        { { .dst = "2001:db8::/48", .expires_hundredths = 100 * LEAST_LIFE_S - 1 },
          "2001:db8::1",
          RIPTIDE_REASON_BASE_EXPIRES },
        { { .dst = "2001:db8::/48", .ifindex = 3, .expires_hundredths = 100 * LEAST_LIFE_S },
          "2001:db8::1",
          RIPTIDE_REASON_NONE },
        { { .dst = "192.0.2.0/25", .type = RTN_LOCAL }, "192.0.2.1", RIPTIDE_REASON_LOCAL },
        { { .dst = any, .type = RTN_BROADCAST }, "10.6.0.1", RIPTIDE_REASON_BASE_NOT_UNICAST },
        { { .dst = any, .type = RTN_THROW }, "10.6.0.1", RIPTIDE_REASON_BASE_NOT_UNICAST },
        { { .dst = any, .table = 100 }, "10.6.0.1", RIPTIDE_REASON_OTHER_TABLE },
        { { .dst = any, .table = RT_TABLE_LOCAL }, "10.6.0.1", RIPTIDE_REASON_OTHER_TABLE },
        { { .dst = any, .table = RT_TABLE_MAIN + 256 }, "10.6.0.1", RIPTIDE_REASON_OTHER_TABLE },
        { { .dst = any, .tos = 4 }, "10.6.0.1", RIPTIDE_REASON_BASE_HAS_CONDITIONS },
        { { .dst = any, .src_len = 1 }, "10.6.0.1", RIPTIDE_REASON_BASE_HAS_CONDITIONS },
        { { .dst = "10.1.2.0/24", .ifindex = 3 }, "10.1.2.3", RIPTIDE_REASON_NONE },
        { { .dst = other }, "203.0.113.9", RIPTIDE_REASON_QUERY_MALFORMED },
        { { .dst = other, .type = RTN_LOCAL }, "2001:db8::1", RIPTIDE_REASON_QUERY_MALFORMED },
        { { .dst = "2001:db8::/32" }, "2001:db9::/48", RIPTIDE_REASON_QUERY_MALFORMED },
    };

    EACH(row, cases) {
        struct bytes answer;

        bytes_put_route(&answer, &row->route);
        assert_reason(&answer, row->dst, row->reason);
    }
}

TEST(every_errno_has_its_reason)
{

    for (int number = 0; number <= 133; number++) {
        const struct nlmsgerr error = { .error = -number };
        enum riptide_reason expected = RIPTIDE_REASON_QUERY_REFUSED;
        struct bytes answer;

        if (number == ENETUNREACH)
            expected = RIPTIDE_REASON_NO_ROUTE;
        else if (number == EINVAL || number == EHOSTUNREACH || number == EACCES)
            expected = RIPTIDE_REASON_BASE_UNREACHABLE;
        else if (number == EBADMSG)
            expected = RIPTIDE_REASON_QUERY_MALFORMED; /* netlink.h says so of one that is cut */
        bytes_begin(&answer, NLMSG_ERROR, &error, sizeof(error));
        assert_reason(&answer, "10.6.0.1", expected);
        bytes_message(&answer)->nlmsg_len = NLMSG_LENGTH(sizeof(error.error) - 1);
        assert_reason(&answer, "10.6.0.1", RIPTIDE_REASON_QUERY_MALFORMED);
    }
}

TEST(other_messages_are_malformed)
{
    static const uint16_t types[] = { RTM_DELROUTE, RTM_GETROUTE, RTM_NEWLINK, NLMSG_DONE };

    EACH(row, types) {
        struct bytes answer;

        bytes_put_route(&answer, &gateway);
        bytes_message(&answer)->nlmsg_type = *row;
        assert_reason(&answer, "203.0.113.9", RIPTIDE_REASON_QUERY_MALFORMED);
    }
}

static bool parses(const struct nlmsghdr *message)
{
    struct route route;

    return route_parse(&route, message) == 0;
}

TEST(figures_of_a_wrong_size_are_refused)
{
    static const int types[] = { RTA_TABLE,     RTA_PRIORITY,  RTA_OIF,  RTA_GATEWAY,  RTA_DST,
                                 RTAX_INITCWND, RTAX_INITRWND, RTAX_MTU, RTAX_RTO_MIN, RTAX_LOCK };
    static const uint8_t payload[20];

    EACH(type, types) {
        for (size_t n = 0; n <= sizeof(payload); n++) {
            struct bytes bytes;

            bytes_put_route(&bytes, &gateway);
            put_figure(&bytes, type - types >= 5, *type, payload, n);
            assert_row(parses(bytes_message(&bytes)) == (n == 4));
        }
    }
}

TEST(headers_that_make_no_sense_are_refused)
{
    static const struct {
        const char *dst;
        uint8_t family, dst_len;
        bool is_route;
    } cases[] = {
        { "203.0.113.0/24", AF_INET, 24, true },
        { "203.0.113.0/24", AF_INET, 23, false }, /* bit 24 is a host bit then */
        { "203.0.113.0/24", AF_INET, 33, false },
        { "203.0.113.0/24", AF_INET6, 24, false },
        { "203.0.113.0/24", AF_UNIX, 24, false },
        { "0.0.0.0/0", AF_INET, 24, false }, /* without an address */
    };

    EACH(row, cases) {
        struct bytes bytes;
        struct rtmsg *rtm = bytes_header(&bytes);

        bytes_put_route(&bytes, &(struct bytes_route){ .dst = row->dst });
        rtm->rtm_family = row->family;
        rtm->rtm_dst_len = row->dst_len;
        assert_row(parses(bytes_message(&bytes)) == row->is_route);
    }
}

TEST(route_that_ends_inside_an_attribute_is_refused)
{
    struct bytes bytes;

    bytes_put_route(&bytes, &gateway);
    bytes_check_ends(&bytes, parses);
}

static uint32_t metric_of(const struct nlmsghdr *message, uint16_t type)
{
    const struct nlattr *metrics =
        netlink_find(netlink_attrs(message, sizeof(struct rtmsg)), RTA_METRICS);
    const struct nlattr *metric = metrics ? netlink_find(netlink_nested(metrics), type) : NULL;

    return metric ? mnl_attr_get_u32(metric) : 0;
}

/* The kernel heeds rto_min only with its lock; what the base locks stays locked. */
TEST(put_has_the_metrics_of_the_base_and_ours_and_fits_a_message)
{
    const struct route own = { .dst = { AF_INET6, 128, { 0x20, 1 } }, .table = 7230 };
    struct route base = {
        .metrics.of = { [RTAX_MTU] = 1400, [RTAX_ADVMSS] = 1300, [RTAX_LOCK] = 1u << RTAX_MTU }
    };
    struct own_metrics given = { .initcwnd = 36, .rto_min_ms = 50 };
    static struct nlmsghdr room[REQUEST_MAX_BYTES / sizeof(struct nlmsghdr)];
    const struct nlmsghdr *message = message_route_put(room, &own, &base, &given);

    assert_int_equal(metric_of(message, RTAX_INITCWND), 36);
    assert_int_equal(metric_of(message, RTAX_MTU), 1400);
    assert_int_equal(metric_of(message, RTAX_ADVMSS), 1300);
    assert_int_equal(metric_of(message, RTAX_RTO_MIN), 50);
    assert_int_equal(metric_of(message, RTAX_LOCK), 1u << RTAX_MTU | 1u << RTAX_RTO_MIN);
    base = (struct route){ .gateway = own.dst, .prefsrc = own.dst, .priority = 1, .ifindex = 1 };
    memset(&base.metrics, 0xff, sizeof(base.metrics));
    memset(&given, 0xff, sizeof(given));
    assert_true(message_route_put(&room, &own, &base, &given)->nlmsg_len <= REQUEST_MAX_BYTES);
}
