/* SPDX-License-Identifier: MIT */
/*
 * lib/netlink: the steps over the messages of a datagram, and how one ends a dump. fuzz/answer.c has
 * the exchange of requests and answers.
 */
#include "netlink.h"
#include "unit.h"

/* A header and room for a payload of four bytes. */
struct message {
    struct nlmsghdr header;
    int32_t error;
};

static const struct message about = {
    .header = { .nlmsg_len = sizeof(struct message), .nlmsg_type = NLMSG_ERROR },
};

/* How many messages there are; `left`: the bytes behind them. */
static int walk(uint32_t len, size_t n_bytes, size_t *left)
{
    struct message messages[2] = { about, about };
    struct netlink_walk walk = { (void *)messages, n_bytes };
    int n = 0;

    messages[0].header.nlmsg_len = len;
    while (netlink_next_message(&walk))
        n++;
    *left = walk.left;
    return n;
}

TEST(walk_ends_with_the_datagram_and_at_a_length_that_lies)
{
    static const struct {
        uint32_t len; /* that the first message says it has */
        size_t n_bytes;
        int n;
        size_t left;
    } cases[] = {
        { 20, 40, 2, 0 },
        { 20, 20, 1, 0 },
        { 17, 17, 1, 0 }, /* without padding */
        { 20, 35, 1, 15 },
        { 20, 15, 0, 15 },
        { 0, 20, 0, 20 },
        { 1, 20, 0, 20 },
        { 15, 20, 0, 20 },
        { 21, 20, 0, 20 },
        { 0x7fffffff, 20, 0, 20 },
        { 0x80000000, 20, 0, 20 },
        { 0xfffffff0, 20, 0, 20 },
        { UINT32_MAX, 20, 0, 20 },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        size_t left;

        if (walk(cases[i].len, cases[i].n_bytes, &left) != cases[i].n || left != cases[i].left)
            fail_msg("case %zu", i);
    }
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
