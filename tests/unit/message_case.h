/* SPDX-License-Identifier: MIT */
/*
 * Requests taken apart again, for the tests of lib/apply/message. Include it behind cmocka.h.
 */
#ifndef RIPTIDE_TESTS_MESSAGE_CASE_H
#define RIPTIDE_TESTS_MESSAGE_CASE_H

#include "bytes.h"

#include <linux/fib_rules.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>

enum { TABLE = 7230, PROTOCOL = 230, MARK = 0x72697074 };

static inline struct nlattr *find(struct nl_msg *message, size_t header_n, int type)
{
    return nlmsg_find_attr(nlmsg_hdr(message), (int)header_n, type);
}

static inline uint32_t u32_of(struct nl_msg *message, size_t header_n, int type)
{
    const struct nlattr *attribute = find(message, header_n, type);

    assert_non_null(attribute);
    assert_int_equal(nla_len(attribute), 4);
    return nla_get_u32(attribute);
}

static inline void assert_payload(const struct nlattr *attribute, const void *expected, size_t n)
{
    assert_non_null(attribute);
    assert_int_equal(nla_len(attribute), n);
    assert_memory_equal(nla_data(attribute), expected, n);
}

static inline void assert_header(struct nl_msg *message, int type, int flags, const void *header,
                                 size_t n)
{
    assert_non_null(message);
    assert_int_equal(nlmsg_hdr(message)->nlmsg_type, type);
    assert_int_equal(nlmsg_hdr(message)->nlmsg_flags, flags | NLM_F_REQUEST);
    assert_true(nlmsg_datalen(nlmsg_hdr(message)) >= (int)n);
    assert_memory_equal(nlmsg_data(nlmsg_hdr(message)), header, n);
}

/* That the attributes are of these types and no others: -1 at the end. */
static inline void assert_types(struct nl_msg *message, size_t header_n, const int *types)
{
    const struct nlattr *attribute;
    int remaining;

    nlmsg_for_each_attr(attribute, nlmsg_hdr(message), (int)header_n, remaining)
    {
        assert_int_equal(nla_type(attribute), *types);
        types++;
    }
    assert_int_equal(remaining, 0);
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
