/* SPDX-License-Identifier: MIT */
/*
 * lib/observe/events: datagrams of destroy events to messages, whatever their bytes are. No socket
 * is read: the buffer is filled by hand.
 */
#include "observe/events.h"
#include "unit.h"

#include <linux/sock_diag.h>

static struct riptide_observer_stats stats;
static struct events events;

static void begin(void)
{
    memset(&stats, 0, sizeof(stats));
    memset(&events, 0, sizeof(events));
    events.stats = &stats;
}

/* A datagram of `len` bytes whose message has a length field of `said_len`. */
static void put(uint16_t type, uint32_t said_len, uint32_t len)
{
    const struct nlmsghdr header = { .nlmsg_len = said_len, .nlmsg_type = type };

    memcpy(events.buffer[events.n], &header, len < 16 ? len : 16);
    events_take(&events, len);
}

static int pop_all(void)
{
    int n = 0;

    for (; events_has_unread(&events); n++)
        assert_int_equal(events_pop(&events)->nlmsg_type, SOCK_DIAG_BY_FAMILY);
    return n;
}

TEST(each_datagram_has_its_message)
{
    begin();
    for (int i = 0; i < EVENTS_BATCH; i++)
        put(SOCK_DIAG_BY_FAMILY, 380, 380);
    assert_int_equal(pop_all(), EVENTS_BATCH);
    assert_int_equal(stats.left_out, 0);
}

TEST(datagram_that_is_no_event_is_counted_and_skipped)
{
    static const struct {
        uint16_t type;
        uint32_t said_len, len;
    } cases[] = {
        { NLMSG_ERROR, 20, 20 },
        { SOCK_DIAG_BY_FAMILY, 0, 16 },
        { SOCK_DIAG_BY_FAMILY, 15, 16 },
        { SOCK_DIAG_BY_FAMILY, 17, 16 },
        { SOCK_DIAG_BY_FAMILY, UINT32_MAX, 380 },
        { SOCK_DIAG_BY_FAMILY, 380, 3 },
        { SOCK_DIAG_BY_FAMILY, 100, 200 },
        { SOCK_DIAG_BY_FAMILY, 380, 0 },
    };

    begin();
    EACH(row, cases)
        put(row->type, row->said_len, row->len);
    put(SOCK_DIAG_BY_FAMILY, 380, 380);
    assert_int_equal(pop_all(), 1);
    assert_int_equal(stats.left_out, COUNT(cases));
}

/* Reading would fail: there is no socket. */
TEST(nothing_is_read_before_the_last_was_handed_out_or_while_not_listening)
{
    begin();
    assert_int_equal(events_dispatch(&events), RIPTIDE_E_AGAIN);
    events.is_listening = true;
    put(SOCK_DIAG_BY_FAMILY, 100, 100);
    put(SOCK_DIAG_BY_FAMILY, 100, 100);
    assert_int_equal(events_dispatch(&events), 0);
    events_pop(&events);
    assert_int_equal(events_dispatch(&events), 0);
    assert_false(events_is_caught_up(&events));
    assert_int_equal(pop_all(), 1);
}
