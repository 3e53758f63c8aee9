/* SPDX-License-Identifier: MIT */
/*
 * lib/apply/base: base routes from answers as the kernel's fib_dump_info and rt6_fill_node send
 * them, and answers without a base route, some of which no kernel sends. test_route.c checks route
 * messages in general.
 */
#include "apply/routes/route.h"
#include "bytes.h"

#include <errno.h>

enum { UNKNOWN = 250, LEAST_LIFE_S = 90 };

static const char malformed[] = "the kernel's answer is malformed";
static const char others[] = "its base route has an attribute that is not copied";

static const struct bytes_route gateway = { .dst = "0.0.0.0/0",
                                            .priority = 100,
                                            .prefsrc = "192.0.2.1",
                                            .gateway = "192.0.2.254",
                                            .ifindex = 3 };

/* Over bytes that are not zero: bases are compared with their padding. */
static const char *parse(struct route *base, struct bytes *answer, const char *dst)
{
    struct riptide_prefix asked = prefix(dst);

    memset(base, 0xa5, sizeof(*base));
    return base_parse(base, &asked, bytes_message(answer));
}

/* That `dst` has no base, for this reason; or has one: NULL. */
static void assert_reason(struct bytes *answer, const char *dst, const char *expected)
{
    struct route base;
    const char *reason = parse(&base, answer, dst);

    if (!reason != !expected || (reason && strcmp(reason, expected) != 0))
        fail_msg("%s: %s", dst, reason ? reason : "has a base");
}

static struct route base_of(const struct bytes_route *route, const char *dst)
{
    struct bytes answer;
    struct route base;

    bytes_put_route(&answer, route);
    assert_null(parse(&base, &answer, dst));
    return base;
}

static bool is_equal(const struct route *a, const struct route *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

TEST(flags_of_the_moment_make_no_difference)
{
    enum { MOMENT = RTNH_F_DEAD | RTNH_F_LINKDOWN | RTNH_F_OFFLOAD };
    static const struct {
        struct bytes_route one, other;
        bool is_equal;
    } cases[] = {
        { { .gateway = "192.0.2.1" },
          { .gateway = "192.0.2.1", .flags = MOMENT | RTM_F_OFFLOAD }, true },
        { { .gateway = "192.0.2.1" },
          { .gateway = "192.0.2.1", .flags = RTNH_F_ONLINK | RTNH_F_LINKDOWN }, false },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct bytes_route one = cases[i].one, other = cases[i].other;
        struct route a, b;

        one.dst = other.dst = "10.1.0.0/16";
        a = base_of(&one, "10.1.0.1");
        b = base_of(&other, "10.1.0.1");
        if (is_equal(&a, &b) != cases[i].is_equal)
            fail_msg("case %zu", i);
    }
}

TEST(the_hop_of_an_object_is_copied_without_it)
{
    struct bytes_route route = gateway;
    struct route base, plain = base_of(&gateway, "10.3.0.1");

    route.nh_id = 7;
    base = base_of(&route, "10.3.0.1");
    assert_true(is_equal(&base, &plain));
}

TEST(what_is_not_copied_is_a_reason)
{
    static const int types[] = { RTA_ENCAP, RTA_FLOW, UNKNOWN };
    struct bytes answer;
    size_t metrics;

    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        bytes_put_route(&answer, &gateway);
        bytes_put_u32(&answer, types[i], 1);
        assert_reason(&answer, "203.0.113.9", others);
    }
    bytes_put_route(&answer, &gateway);
    metrics = bytes_nest(&answer, RTA_METRICS);
    bytes_put(&answer, RTAX_CC_ALGO, "reno", 5);
    bytes_nest_end(&answer, metrics);
    assert_reason(&answer, "203.0.113.9", others);
    bytes_put_route(&answer, &gateway);
    metrics = bytes_nest(&answer, RTA_METRICS);
    bytes_put_u32(&answer, RTAX_MAX + 1, 1);
    bytes_nest_end(&answer, metrics);
    assert_reason(&answer, "203.0.113.9", others);
}

/* Everything that distinguishes two bases, one by one; their expiry and protocol do not. */
TEST(equal_is_what_means_the_same)
{
    const struct bytes_route plain = { .dst = "10.0.0.0/8",
                                       .priority = 100,
                                       .metrics = { [RTAX_MTU] = 1400,
                                                    [RTAX_ADVMSS] = 1360,
                                                    [RTAX_INITCWND] = 30,
                                                    [RTAX_INITRWND] = 20 },
                                       .prefsrc = "192.0.2.1",
                                       .gateway = "192.0.2.254",
                                       .ifindex = 3,
                                       .expires_hundredths = 30000 };
    struct route base = base_of(&plain, "10.1.0.1");
    struct bytes_route other = plain;
    uint32_t *const figures[] = { &other.scope,
                                  &other.priority,
                                  &other.ifindex,
                                  &other.metrics[RTAX_MTU],
                                  &other.metrics[RTAX_ADVMSS],
                                  &other.metrics[RTAX_INITCWND],
                                  &other.metrics[RTAX_INITRWND],
                                  &other.metrics[RTAX_HOPLIMIT] };
    struct route same, changed;

    other.expires_hundredths = 0;
    other.protocol = 16;
    same = base_of(&other, "10.1.0.1");
    assert_true(is_equal(&base, &same));
    for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++) {
        other = plain;
        ++*figures[i];
        changed = base_of(&other, "10.1.0.1");
        if (is_equal(&base, &changed))
            fail_msg("figure %zu", i);
    }
    for (int i = 0; i < 3; i++) {
        other = plain;
        *(i == 0 ? &other.dst : i == 1 ? &other.prefsrc : &other.gateway) = "10.1.0.0/16";
        changed = base_of(&other, "10.1.0.1");
        if (is_equal(&base, &changed))
            fail_msg("address %d", i);
    }
}

/* What is left alone, and what is not: no reason. */
TEST(what_has_no_base_has_a_reason)
{
    /* net.ipv4.nexthop_compat_mode decides whether the kernel shows the hops of an object. */
    static const char several[] = "its base route has several next hops";
    static const char unseen[] = "the kernel does not show the hop of its next-hop object";
    static const char locked[] = "its base route locks initcwnd or initrwnd";
    static const char large[] = "its base route has a larger mtu than can be given to another";
    static const char table[] = "a rule sends it to another table than main";
    static const char by_packet[] = "its base route depends on tos or source";
    static const char other[] = "198.51.100.0/24", any[] = "0.0.0.0/0";
    static const struct {
        struct bytes_route route;
        const char *dst, *reason;
    } cases[] = {
        { { .dst = "10.3.0.0/16", .is_multipath = true }, "10.3.0.1", several },
        { { .dst = "2001:db8:97::/48", .is_multipath = true }, "2001:db8:97::1", several },
        { { .dst = "10.3.0.0/16", .prefsrc = "192.0.2.1", .nh_id = 7 }, "10.3.0.1", unseen },
        { { .dst = "2001:db8:97::/48", .nh_id = 7 }, "2001:db8:97::1", unseen },
        { { .dst = any, .metrics[RTAX_LOCK] = 1u << RTAX_INITCWND }, "10.6.0.1", locked },
        { { .dst = any, .metrics[RTAX_LOCK] = 1u << RTAX_INITRWND }, "10.6.0.1", locked },
        { { .dst = any, .metrics[RTAX_LOCK] = 1u << RTAX_MTU | 1u << RTAX_INITCWND },
          "10.6.0.1", locked },
        { { .dst = any, .ifindex = 3,
            .metrics[RTAX_LOCK] = ~(1u << RTAX_INITCWND | 1u << RTAX_INITRWND) },
          "10.6.0.1", NULL },
        { { .dst = any, .metrics[RTAX_MTU] = 65521 }, "10.6.0.1", large },
        { { .dst = any, .ifindex = 3, .metrics[RTAX_MTU] = 65520 }, "10.6.0.1", NULL },
        /* ours has no lifetime, and is to go before it */
        { { .dst = "2001:db8::/48", .expires_hundredths = 100 * LEAST_LIFE_S - 1 },
          "2001:db8::1", "its base route is about to expire" },
        { { .dst = "192.0.2.0/25", .type = RTN_LOCAL },
          "192.0.2.1", "it is an address of this host" },
        { { .dst = any, .table = 100 }, "10.6.0.1", table },
        { { .dst = any, .table = RT_TABLE_DEFAULT }, "10.6.0.1", table },
        { { .dst = any, .table = RT_TABLE_LOCAL }, "10.6.0.1", table },
        { { .dst = any, .table = RT_TABLE_MAIN + 256 }, "10.6.0.1", table },
        { { .dst = any, .tos = 4 }, "10.6.0.1", by_packet },
        { { .dst = any, .src_len = 1 }, "10.6.0.1", by_packet },
        { { .dst = "10.1.2.0/24", .ifindex = 3 }, "10.1.2.3", NULL },
        { { .dst = other }, "203.0.113.9", malformed },
        { { .dst = other, .type = RTN_LOCAL }, "203.0.113.9", malformed },
        { { .dst = other, .type = RTN_LOCAL }, "2001:db8::1", malformed },
        { { .dst = "2001:db8::/32" }, "2001:db9::/48", malformed },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct bytes answer;

        bytes_put_route(&answer, &cases[i].route);
        assert_reason(&answer, cases[i].dst, cases[i].reason);
    }
}

TEST(only_unicast_is_ours)
{
    for (uint32_t type = 1; type < 256; type++) {
        struct bytes answer;

        bytes_put_route(&answer, &(struct bytes_route){
                                     .dst = "192.0.2.1", .type = type, .ifindex = 3 });
        assert_reason(&answer, "192.0.2.1",
                      type == RTN_UNICAST ? NULL
                      : type == RTN_LOCAL ? "it is an address of this host"
                                          : "its base route is not unicast");
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

TEST(other_messages_are_malformed)
{
    static const uint16_t types[] = { RTM_DELROUTE, RTM_GETROUTE, RTM_NEWLINK, NLMSG_DONE };

    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        struct bytes answer;

        bytes_put_route(&answer, &gateway);
        bytes_message(&answer)->nlmsg_type = types[i];
        assert_reason(&answer, "203.0.113.9", malformed);
    }
}
