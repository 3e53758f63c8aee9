/* SPDX-License-Identifier: MIT */
/*
 * Requests taken apart again, for the tests of lib/apply/message. Include it behind cmocka.h.
 */
#ifndef RIPTIDE_TESTS_MESSAGE_CASE_H
#define RIPTIDE_TESTS_MESSAGE_CASE_H

#include "bytes.h"
#include "netlink.h"

#include <linux/fib_rules.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

/* Where requests are built one after the other; what is not written there shows. */
static inline void *room(void)
{
    static struct netlink_room room;

    memset(&room, 0xdd, sizeof(room));
    return &room;
}

enum { TABLE = 7230, PROTOCOL = 230, MARK = 0x72697074 };

static inline const struct nlattr *find(const struct nlmsghdr *message, size_t header_n,
                                         uint16_t type)
{
    return netlink_find(netlink_attrs(message, header_n), type);
}

static inline uint32_t u32_of(struct nlmsghdr *message, size_t header_n, uint16_t type)
{
    const struct nlattr *attribute = find(message, header_n, type);

    assert_non_null(attribute);
    assert_int_equal(mnl_attr_get_payload_len(attribute), 4);
    return mnl_attr_get_u32(attribute);
}

static inline void assert_payload(const struct nlattr *attribute, const void *expected, size_t n)
{
    assert_non_null(attribute);
    assert_int_equal(mnl_attr_get_payload_len(attribute), n);
    assert_memory_equal(mnl_attr_get_payload(attribute), expected, n);
}

static inline void assert_header(struct nlmsghdr *message, int type, int flags, const void *header,
                                 size_t n)
{
    assert_non_null(message);
    assert_int_equal(message->nlmsg_type, type);
    assert_int_equal(message->nlmsg_flags, flags | NLM_F_REQUEST);
    assert_true(mnl_nlmsg_get_payload_len(message) >= n);
    assert_memory_equal(mnl_nlmsg_get_payload(message), header, n);
}

/* That the attributes are of these types and no others: -1 at the end. */
static inline void assert_types(struct nlmsghdr *message, size_t header_n, const int *types)
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

#endif
