/* SPDX-License-Identifier: MIT */
/*
 * The steps over the messages of a datagram, and how one ends a dump.
 */
#include "netlink.h"
#include "unit.h"

#include <errno.h>

/* A header and room for a payload of four bytes. */
struct message {
    struct nlmsghdr header;
    int32_t error;
};

static const struct message about = {
    .header = { .nlmsg_len = sizeof(struct message), .nlmsg_type = NLMSG_ERROR },
};

TEST(ends_with_the_datagram)
{
    struct message messages[2] = { about, about };
    struct netlink_walk walk = { (void *)messages, sizeof(messages) };

    assert_ptr_equal(netlink_next_message(&walk), &messages[0]);
    assert_ptr_equal(netlink_next_message(&walk), &messages[1]);
    assert_null(netlink_next_message(&walk));
    assert_int_equal(walk.left, 0);
}

TEST(stops_at_lengths_that_lie)
{
    static const uint32_t lengths[] = {
        0, 1, 15, 21, 0x7fffffff, 0x80000000, 0xfffffff0, UINT32_MAX
    };

    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        struct message message = about;
        struct netlink_walk walk = { (void *)&message, sizeof(message) };

        message.header.nlmsg_len = lengths[i];
        assert_null(netlink_next_message(&walk));
        assert_int_equal(walk.left, sizeof(message));
    }
}

TEST(stops_at_half_a_header)
{
    struct message message = about;
    struct netlink_walk walk = { (void *)&message, sizeof(struct nlmsghdr) - 1 };

    assert_null(netlink_next_message(&walk));
    assert_int_not_equal(walk.left, 0);
}

TEST(takes_a_last_message_without_padding)
{
    struct message message = about;
    struct netlink_walk walk = { (void *)&message, 17 };

    message.header.nlmsg_len = 17;
    assert_non_null(netlink_next_message(&walk));
    assert_int_equal(walk.left, 0);
}

TEST(ends_of_dumps_have_their_error)
{
    static const struct {
        uint16_t type;
        int32_t error;
        uint32_t n_bytes;
        int expected;
    } cases[] = {
        { NLMSG_DONE, 0, 4, 0 },
        { NLMSG_DONE, -ENOENT, 4, -ENOENT },
        { NLMSG_DONE, -ENOENT, 3, 0 },
        { NLMSG_ERROR, -EPERM, 4, -EPERM },
        { NLMSG_ERROR, -EPERM, 3, -EBADMSG },
        { NLMSG_ERROR, 5, 4, -EBADMSG },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct message message = about;

        message.header.nlmsg_type = cases[i].type;
        message.header.nlmsg_len = (uint32_t)sizeof(message.header) + cases[i].n_bytes;
        message.error = cases[i].error;
        assert_int_equal(netlink_end_error(&message.header), cases[i].expected);
    }
}
