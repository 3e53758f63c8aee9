/* SPDX-License-Identifier: MIT */
/*
 * The steps over the messages of a datagram, and what a message is to a dump.
 */
#include "observe/reply.h"

#include "observe/walk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A header and room for a payload of four bytes. */
struct message {
    struct nlmsghdr header;
    int32_t error;
};

static struct message make_message(uint16_t type, uint32_t seq, uint32_t portid, int32_t error)
{
    return (struct message){
        .header = { .nlmsg_len = sizeof(struct message),
                    .nlmsg_type = type,
                    .nlmsg_seq = seq,
                    .nlmsg_pid = portid },
        .error = error,
    };
}

static void test_walk_ends_with_the_datagram(void **state)
{
    struct message messages[2] = { make_message(20, 1, 1, 0), make_message(20, 1, 1, 0) };
    struct walk walk = { (void *)messages, sizeof(messages) };

    (void)state;
    assert_ptr_equal(walk_message(&walk), &messages[0]);
    assert_ptr_equal(walk_message(&walk), &messages[1]);
    assert_null(walk_message(&walk));
    assert_int_equal(walk.left, 0);
}

static void test_walk_stops_at_lengths_that_lie(void **state)
{
    static const uint32_t lengths[] = {
        0, 1, 15, 21, 0x7fffffff, 0x80000000, 0xfffffff0, UINT32_MAX
    };

    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        struct message message = make_message(20, 1, 1, 0);
        struct walk walk = { (void *)&message, sizeof(message) };

        message.header.nlmsg_len = lengths[i];
        assert_null(walk_message(&walk));
        assert_int_equal(walk.left, sizeof(message));
    }
}

static void test_walk_stops_at_half_a_header(void **state)
{
    struct message message = make_message(20, 1, 1, 0);
    struct walk walk = { (void *)&message, sizeof(struct nlmsghdr) - 1 };

    (void)state;
    assert_null(walk_message(&walk));
    assert_int_not_equal(walk.left, 0);
}

static void test_walk_takes_a_last_message_without_padding(void **state)
{
    struct message message = make_message(20, 1, 1, 0);
    struct walk walk = { (void *)&message, 17 };

    (void)state;
    message.header.nlmsg_len = 17;
    assert_non_null(walk_message(&walk));
    assert_int_equal(walk.left, 0);
}

static const struct reply_expected expected = { .seq = 7, .portid = 99, .type = 20 };

static struct reply reply_to(uint16_t type, uint32_t seq, uint32_t portid, int32_t error)
{
    struct message message = make_message(type, seq, portid, error);

    return reply_read(&message.header, &expected);
}

static void test_reply_data_and_ends(void **state)
{
    (void)state;
    assert_int_equal(reply_to(20, 7, 99, 0).kind, REPLY_DATA);
    assert_int_equal(reply_to(NLMSG_DONE, 7, 99, 0).kind, REPLY_END);
    assert_int_equal(reply_to(NLMSG_DONE, 7, 99, 0).error, 0);
    assert_int_equal(reply_to(NLMSG_DONE, 7, 99, -ENOENT).error, -ENOENT);
    assert_int_equal(reply_to(NLMSG_ERROR, 7, 99, -EPERM).kind, REPLY_END);
    assert_int_equal(reply_to(NLMSG_ERROR, 7, 99, -EPERM).error, -EPERM);
    assert_int_equal(reply_to(NLMSG_OVERRUN, 7, 99, 0).kind, REPLY_END);
    assert_int_equal(reply_to(NLMSG_OVERRUN, 7, 99, 0).error, -ENOBUFS);
}

static void test_reply_acknowledgement_ends_nothing(void **state)
{
    (void)state;
    assert_int_equal(reply_to(NLMSG_ERROR, 7, 99, 0).kind, REPLY_NOTHING);
    assert_int_equal(reply_to(NLMSG_NOOP, 7, 99, 0).kind, REPLY_NOTHING);
}

static void test_reply_of_older_requests(void **state)
{
    (void)state;
    assert_int_equal(reply_to(20, 6, 99, 0).kind, REPLY_OLD);
    assert_int_equal(reply_to(NLMSG_DONE, 6, 99, 0).kind, REPLY_OLD);
    assert_int_equal(reply_to(NLMSG_ERROR, 6, 99, -EBUSY).kind, REPLY_OLD);
}

static void test_reply_strays(void **state)
{
    (void)state;
    assert_int_equal(reply_to(20, 8, 99, 0).kind, REPLY_STRAY);
    assert_int_equal(reply_to(20, 7, 98, 0).kind, REPLY_STRAY);
    assert_int_equal(reply_to(NLMSG_DONE, 7, 98, 0).kind, REPLY_STRAY);
    assert_int_equal(reply_to(21, 7, 99, 0).kind, REPLY_STRAY);
}

static void test_reply_error_without_a_number_is_stray(void **state)
{
    struct message message = make_message(NLMSG_ERROR, 7, 99, -EPERM);

    (void)state;
    message.header.nlmsg_len = sizeof(message.header) + 3;
    assert_int_equal(reply_read(&message.header, &expected).kind, REPLY_STRAY);
}

static void test_reply_sequence_numbers_wrap(void **state)
{
    struct reply_expected wrapped = { .seq = 1, .portid = 99, .type = 20 };
    struct message message = make_message(20, UINT32_MAX, 99, 0);

    (void)state;
    assert_int_equal(reply_read(&message.header, &wrapped).kind, REPLY_OLD);
    wrapped.seq = UINT32_MAX;
    message.header.nlmsg_seq = 1;
    assert_int_equal(reply_read(&message.header, &wrapped).kind, REPLY_STRAY);
}

static void test_reply_interruption_counts_for_our_dump_alone(void **state)
{
    struct message message = make_message(20, 7, 99, 0);

    (void)state;
    assert_false(reply_read(&message.header, &expected).interrupted);
    message.header.nlmsg_flags = NLM_F_MULTI | NLM_F_DUMP_INTR;
    assert_true(reply_read(&message.header, &expected).interrupted);
    message.header.nlmsg_type = NLMSG_DONE;
    assert_true(reply_read(&message.header, &expected).interrupted);
    message.header.nlmsg_seq = 6;
    assert_false(reply_read(&message.header, &expected).interrupted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_walk_ends_with_the_datagram),
        cmocka_unit_test(test_walk_stops_at_lengths_that_lie),
        cmocka_unit_test(test_walk_stops_at_half_a_header),
        cmocka_unit_test(test_walk_takes_a_last_message_without_padding),
        cmocka_unit_test(test_reply_data_and_ends),
        cmocka_unit_test(test_reply_acknowledgement_ends_nothing),
        cmocka_unit_test(test_reply_of_older_requests),
        cmocka_unit_test(test_reply_strays),
        cmocka_unit_test(test_reply_error_without_a_number_is_stray),
        cmocka_unit_test(test_reply_sequence_numbers_wrap),
        cmocka_unit_test(test_reply_interruption_counts_for_our_dump_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
