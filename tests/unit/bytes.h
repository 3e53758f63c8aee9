/* SPDX-License-Identifier: MIT */
/* Netlink messages built attribute by attribute, for tests of what reads them. */
#ifndef RIPTIDE_TESTS_BYTES_H
#define RIPTIDE_TESTS_BYTES_H

#include "unit.h"

#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>

struct bytes {
    _Alignas(NLMSG_ALIGNTO) unsigned char data[8192];
};

static inline struct nlmsghdr *bytes_message(struct bytes *bytes)
{
    return (struct nlmsghdr *)bytes->data;
}

/* The header after the netlink header: struct rtmsg, struct fib_rule_hdr, struct nhmsg. */
static inline void *bytes_header(struct bytes *bytes)
{
    return bytes->data + NLMSG_HDRLEN;
}

static inline void bytes_begin(struct bytes *bytes, uint16_t type, const void *header, size_t n)
{
    /* Not zero, so that a read after the end is detected. */
    memset(bytes->data, 0xdd, sizeof(bytes->data));
    *bytes_message(bytes) =
        (struct nlmsghdr){ .nlmsg_len = (uint32_t)NLMSG_SPACE(n), .nlmsg_type = type };
    memcpy(bytes_header(bytes), header, n);
}

static inline void bytes_put(struct bytes *bytes, int type, const void *payload, size_t n)
{
    assert_true(
        mnl_attr_put_check(bytes_message(bytes), sizeof(bytes->data), (uint16_t)type, n, payload));
}

#define bytes_put_u8(bytes, type, value)  bytes_put(bytes, type, &(uint8_t){ value }, 1)
#define bytes_put_u32(bytes, type, value) bytes_put(bytes, type, &(uint32_t){ value }, 4)

/* The attribute whose payload the next ones are. */
static inline struct nlattr *bytes_nest(struct bytes *bytes, int type)
{
    bytes_put(bytes, type, NULL, 0);
    return (struct nlattr *)mnl_nlmsg_get_payload_tail(bytes_message(bytes)) - 1;
}

/* An address in as many bytes as its family has. */
static inline void bytes_put_address(struct bytes *bytes, int type, const char *text)
{
    struct riptide_prefix address = prefix(text);

    bytes_put(bytes, type, address.addr, address.family == AF_INET ? 4 : 16);
}

/* A route as the kernel shows it; members of 0 or NULL are absent, except main and unicast. */
struct bytes_route {
    const char *dst, *prefsrc, *gateway;
    uint32_t type, table, tos, src_len, scope, protocol, flags;
    uint32_t priority, ifindex, nh_id;
    uint32_t metrics[RTAX_MAX + 1];
    bool is_multipath; /* with no hops */
    int32_t expires_hundredths;
};

/* In the order of fib_dump_info. */
static inline void bytes_put_route(struct bytes *bytes, const struct bytes_route *route)
{
    const struct rta_cacheinfo cacheinfo = { .rta_expires = route->expires_hundredths };
    uint32_t table = route->table ? route->table : RT_TABLE_MAIN;
    struct riptide_prefix dst = prefix(route->dst);
    const struct rtmsg rtm = {
        .rtm_family = dst.family,
        .rtm_dst_len = dst.len,
        .rtm_src_len = (uint8_t)route->src_len,
        .rtm_tos = (uint8_t)route->tos,
        .rtm_table = (uint8_t)(table < 256 ? table : RT_TABLE_COMPAT),
        .rtm_protocol = (uint8_t)route->protocol,
        .rtm_scope = (uint8_t)route->scope,
        .rtm_type = (uint8_t)(route->type ? route->type : RTN_UNICAST),
        .rtm_flags = route->flags,
    };
    struct nlattr *metrics = NULL;

    bytes_begin(bytes, RTM_NEWROUTE, &rtm, sizeof(rtm));
    bytes_put_u32(bytes, RTA_TABLE, table);
    if (dst.len > 0)
        bytes_put_address(bytes, RTA_DST, route->dst);
    if (route->priority)
        bytes_put_u32(bytes, RTA_PRIORITY, route->priority);
    for (int i = 1; i <= RTAX_MAX; i++) {
        if (route->metrics[i] && !metrics)
            metrics = bytes_nest(bytes, RTA_METRICS);
        if (route->metrics[i])
            bytes_put_u32(bytes, i, route->metrics[i]);
    }
    if (metrics)
        mnl_attr_nest_end(bytes_message(bytes), metrics);
    if (route->prefsrc)
        bytes_put_address(bytes, RTA_PREFSRC, route->prefsrc);
    if (route->nh_id)
        bytes_put_u32(bytes, RTA_NH_ID, route->nh_id);
    if (route->gateway)
        bytes_put_address(bytes, RTA_GATEWAY, route->gateway);
    if (route->ifindex)
        bytes_put_u32(bytes, RTA_OIF, route->ifindex);
    if (route->is_multipath)
        bytes_nest(bytes, RTA_MULTIPATH);
    if (route->expires_hundredths)
        bytes_put(bytes, RTA_CACHEINFO, &cacheinfo, sizeof(cacheinfo));
}

/* That a message without its last few bytes is refused, and one with bytes behind it that are no attribute. */
static inline void bytes_check_ends(struct bytes *bytes,
                                    bool (*parses)(const struct nlmsghdr *message))
{
    struct nlmsghdr *message = bytes_message(bytes);
    uint32_t n_bytes = message->nlmsg_len;

    for (int more = 1 - (int)sizeof(struct nlattr) - 4; more <= (int)sizeof(struct nlattr);
         more++) {
        message->nlmsg_len = n_bytes + (uint32_t)more;
        if (parses(message) != (more == 0))
            fail_msg("%+d bytes", more);
    }
    message->nlmsg_len = NLMSG_HDRLEN + 1; /* a part of its header */
    assert_false(parses(message));
}

#endif
