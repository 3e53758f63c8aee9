/* SPDX-License-Identifier: MIT */
/*
 * Answers to route queries for the tests of lib/apply/base. Include it behind cmocka.h.
 */
#ifndef RIPTIDE_TESTS_BASE_CASE_H
#define RIPTIDE_TESTS_BASE_CASE_H

#include "apply/base.h"
#include "bytes.h"

#include <linux/rtnetlink.h>

enum { UNKNOWN = 250, PAYLOAD_MAX = ATTRS_MAX_BYTES - 4 };

static const char malformed[] = "the kernel's answer makes no sense";
static const char no_room[] = "its base route has more attributes than fit";

static inline struct rtmsg *rtm(struct bytes *answer)
{
    return bytes_header(answer);
}

/* A unicast route of main, up to what makes its next hop. */
static inline void begin(struct bytes *answer, const char *match)
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

static inline void begin_gateway(struct bytes *answer)
{
    begin(answer, "0.0.0.0/0");
    bytes_put_u32(answer, RTA_PRIORITY, 100);
    bytes_put_address(answer, RTA_PREFSRC, "192.0.2.1");
    bytes_put_address(answer, RTA_GATEWAY, "192.0.2.254");
    bytes_put_u32(answer, RTA_OIF, 3);
}

static inline void put_metric(struct bytes *answer, int type, uint32_t value)
{
    size_t metrics = bytes_nest(answer, RTA_METRICS);

    bytes_put_u32(answer, type, value);
    bytes_nest_end(answer, metrics);
}

static inline void put_expiry(struct bytes *answer, int32_t hundredths)
{
    const struct rta_cacheinfo cacheinfo = { .rta_expires = hundredths };

    bytes_put(answer, RTA_CACHEINFO, &cacheinfo, sizeof(cacheinfo));
}

/* One hop of a multipath route through a gateway. */
static inline void put_hop(struct bytes *answer, uint8_t flags, uint8_t weight, int ifindex,
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

static inline void put_hops(struct bytes *answer, uint8_t flags, uint8_t weight)
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

static inline struct base *parsed(struct bytes *answer, const char *dst)
{
    /* More than any test makes. */
    static struct base bases[16];
    static unsigned int turn;
    struct base *base = &bases[turn++ % 16];

    assert_null(parse(base, answer, dst));
    return base;
}

static inline void assert_reason(struct bytes *answer, const char *dst, const char *expected)
{
    struct base base;
    const char *reason = parse(&base, answer, dst);

    assert_non_null(reason);
    assert_string_equal(reason, expected);
}

#endif
