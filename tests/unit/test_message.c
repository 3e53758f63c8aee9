/* SPDX-License-Identifier: MIT */
/*
 * lib/apply/message: what the kernel cannot show. It judges all other requests, in tests/netns.
 */
#include "apply/routes/route.h"
#include "bytes.h"

static const struct route own = { .dst = { AF_INET6, 128, { 0x20, 1 } }, .table = 7230 };
static struct netlink_room room;

static uint32_t metric_of(const struct nlmsghdr *message, uint16_t type)
{
    const struct nlattr *metrics =
        netlink_find(netlink_attrs(message, sizeof(struct rtmsg)), RTA_METRICS);
    const struct nlattr *metric = metrics ? netlink_find(netlink_nested(metrics), type) : NULL;

    return metric ? mnl_attr_get_u32(metric) : 0;
}

/* The kernel heeds rto_min only with its lock; what the base locks stays locked. */
TEST(rto_min_has_its_lock)
{
    const struct route base = { .metrics.of = { [RTAX_ADVMSS] = 1300, [RTAX_LOCK] = 1u << RTAX_MTU } };
    const struct own_metrics given = { .initcwnd = 36, .mtu_bytes = 1400, .rto_min_ms = 50 };
    const struct nlmsghdr *message = message_route_put(&room, &own, &base, &given);

    assert_int_equal(metric_of(message, RTAX_INITCWND), 36);
    assert_int_equal(metric_of(message, RTAX_MTU), 1400);
    assert_int_equal(metric_of(message, RTAX_ADVMSS), 1300);
    assert_int_equal(metric_of(message, RTAX_RTO_MIN), 50);
    assert_int_equal(metric_of(message, RTAX_LOCK), 1u << RTAX_MTU | 1u << RTAX_RTO_MIN);
}

TEST(route_with_all_metrics_fits_a_message)
{
    struct route base = { .gateway = own.dst, .prefsrc = own.dst, .priority = 1, .ifindex = 1 };
    struct own_metrics given;

    memset(&base.metrics, 0xff, sizeof(base.metrics));
    memset(&given, 0xff, sizeof(given));
    assert_true(message_route_put(&room, &own, &base, &given)->nlmsg_len <= REQUEST_MAX_BYTES);
}
