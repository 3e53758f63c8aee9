/* SPDX-License-Identifier: MIT */
/*
 * Datagrams of destroy events to messages, whatever their bytes are. No socket is read: the buffer
 * is filled by hand.
 */
#include "observe/events.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <linux/sock_diag.h>
#include <riptide/riptide.h>

struct fixture {
    struct riptide_observer_stats stats;
    struct events events;
};

static struct fixture *make(void)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    assert_non_null(fixture);
    fixture->events.stats = &fixture->stats;
    return fixture;
}

/* Appends a message to the last datagram. */
static void put(struct events *events, uint16_t type, uint32_t said_len, uint32_t len)
{
    uint32_t *end = &events->lens[events->n - 1];
    const struct nlmsghdr header = { .nlmsg_len = said_len, .nlmsg_type = type };

    assert_true(*end + len <= EVENT_MAX_BYTES);
    memcpy(events->buffer[events->n - 1] + *end, &header, len < 16 ? len : 16);
    *end += len;
}

static int pop_all(struct events *events)
{
    const struct nlmsghdr *message;
    int n = 0;

    while (events_pop(events, &message) == 0)
        n++;
    return n;
}

static void each_datagram_has_its_message(void **state)
{
    struct fixture *fixture = make();

    (void)state;
    for (int i = 0; i < EVENTS_BATCH; i++) {
        fixture->events.n++;
        put(&fixture->events, SOCK_DIAG_BY_FAMILY, 380, 380);
    }
    assert_int_equal(pop_all(&fixture->events), EVENTS_BATCH);
    assert_int_equal(fixture->stats.malformed, 0);
    free(fixture);
}

static void several_in_one_datagram_are_all_seen(void **state)
{
    struct fixture *fixture = make();

    (void)state;
    fixture->events.n = 1;
    put(&fixture->events, SOCK_DIAG_BY_FAMILY, 100, 100);
    put(&fixture->events, SOCK_DIAG_BY_FAMILY, 101, 104);
    put(&fixture->events, SOCK_DIAG_BY_FAMILY, 20, 20);
    assert_int_equal(pop_all(&fixture->events), 3);
    assert_int_equal(fixture->stats.malformed, 0);
    free(fixture);
}

static void what_is_no_event_is_counted_and_skipped(void **state)
{
    const struct {
        uint16_t type;
        uint32_t said_len, len;
    } cases[] = {
        { NLMSG_ERROR, 20, 20 },
        { SOCK_DIAG_BY_FAMILY, 0, 16 },
        { SOCK_DIAG_BY_FAMILY, 15, 16 },
        { SOCK_DIAG_BY_FAMILY, 17, 16 },
        { SOCK_DIAG_BY_FAMILY, UINT32_MAX, 380 },
        { SOCK_DIAG_BY_FAMILY, 380, 3 },
    };
    struct fixture *fixture = make();
    size_t n = sizeof(cases) / sizeof(cases[0]);

    (void)state;
    for (size_t i = 0; i < n; i++) {
        fixture->events.n++;
        put(&fixture->events, cases[i].type, cases[i].said_len, cases[i].len);
    }
    fixture->events.n++;
    put(&fixture->events, SOCK_DIAG_BY_FAMILY, 380, 380);
    assert_int_equal(pop_all(&fixture->events), 1);
    assert_int_equal(fixture->stats.malformed, n);
    assert_int_equal(fixture->stats.sockets, n);
    free(fixture);
}

static void nothing_is_read_before_the_last_was_handed_out(void **state)
{
    struct fixture *fixture = make();
    const struct nlmsghdr *message;

    (void)state;
    /* Reading would fail: there is no socket. */
    fixture->events.is_listening = true;
    fixture->events.n = 1;
    put(&fixture->events, SOCK_DIAG_BY_FAMILY, 100, 100);
    put(&fixture->events, SOCK_DIAG_BY_FAMILY, 100, 100);
    assert_int_equal(events_dispatch(&fixture->events), 0);
    assert_int_equal(events_pop(&fixture->events, &message), 0);
    assert_int_equal(events_dispatch(&fixture->events), 0);
    assert_int_equal(pop_all(&fixture->events), 1);
    free(fixture);
}

static void what_was_not_popped_is_not_caught_up_with(void **state)
{
    struct fixture *fixture = make();
    const struct nlmsghdr *message;

    (void)state;
    fixture->events.is_drained = true;
    fixture->events.n = 1;
    put(&fixture->events, SOCK_DIAG_BY_FAMILY, 100, 100);
    put(&fixture->events, SOCK_DIAG_BY_FAMILY, 100, 100);
    assert_false(events_is_caught_up(&fixture->events));
    assert_int_equal(events_pop(&fixture->events, &message), 0);
    assert_false(events_is_caught_up(&fixture->events));
    assert_int_equal(events_pop(&fixture->events, &message), 0);
    assert_true(events_is_caught_up(&fixture->events));
    free(fixture);
}

static void nothing_is_read_while_not_listening(void **state)
{
    struct fixture *fixture = make();

    (void)state;
    assert_int_equal(events_dispatch(&fixture->events), RIPTIDE_E_AGAIN);
    free(fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_datagram_has_its_message),
        cmocka_unit_test(several_in_one_datagram_are_all_seen),
        cmocka_unit_test(what_is_no_event_is_counted_and_skipped),
        cmocka_unit_test(nothing_is_read_before_the_last_was_handed_out),
        cmocka_unit_test(what_was_not_popped_is_not_caught_up_with),
        cmocka_unit_test(nothing_is_read_while_not_listening),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
