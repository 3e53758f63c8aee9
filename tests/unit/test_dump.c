/* SPDX-License-Identifier: MIT */
/*
 * The order of a dump's requests where answers come late, in part or never. The kernel is a
 * stand-in (kernel.c) for these cases alone: it cannot be brought to them at will. What it does
 * otherwise is asked of it in tests/netns.
 */
#include "kernel.h"
#include "unit.h"

#include <errno.h>
#include <linux/netlink.h>
#include <riptide/observe.h>

enum { MANY = 200 };

static struct riptide_observer *observer;

static int setup(void **state)
{
    struct riptide_observer_config config;

    kernel_reset();
    riptide_observer_config_init(&config, sizeof(config));
    return riptide_observer_new(&observer, &config, NULL);
}

static int teardown(void **state)
{
    riptide_observer_free(observer);
    kernel_reset();
    return 0;
}

static struct riptide_observer_stats stats(void)
{
    struct riptide_observer_stats stats;

    riptide_observer_get_stats(observer, &stats, sizeof(stats));
    return stats;
}

/* As the answer to whatever is the latest request when it is read. */
static void say(uint16_t type, int32_t error)
{
    const struct {
        struct nlmsghdr header;
        int32_t error;
    } message = { .header = { .nlmsg_len = sizeof(message), .nlmsg_type = type }, .error = error };

    kernel_say(KERNEL_SOCKETS, (const uint8_t *)&message, sizeof(message));
}

/* Like a loop that waits until the fd is readable. Outcomes: the last of pop. */
static int run(void)
{
    const struct riptide_sample *sample;
    int r = RIPTIDE_E_AGAIN;

    for (int i = 0; i < MANY && r != RIPTIDE_E_DONE && kernel_is_readable(); i++) {
        assert_int_equal(riptide_observer_dispatch(observer), RIPTIDE_E_MORE);
        r = riptide_observer_pop(observer, &sample);
    }
    return r;
}

static void assert_ends(void)
{
    say(NLMSG_DONE, 0);
    assert_int_equal(run(), RIPTIDE_E_DONE);
}

TEST_WITH(a_dump_ends_with_the_kernels_last_message, setup, teardown)
{
    assert_int_equal(riptide_observer_start(observer), 0);
    assert_ends();
    assert_int_equal(stats().dumps, 1);
}

/* A full queue would lose the answer silently; its content answers nothing new. */
TEST_WITH(after_an_overrun_the_next_dump_waits_until_the_queue_is_empty, setup, teardown)
{
    assert_int_equal(riptide_observer_start(observer), 0);
    kernel_fail(KERNEL_SOCKETS, ENOBUFS);
    for (int old = 0; old < 5; old++)
        say(NLMSG_DONE, 0);
    assert_int_equal(riptide_observer_dispatch(observer), -ENOBUFS);
    assert_int_equal(riptide_observer_start(observer), 0);
    assert_int_equal(run(), RIPTIDE_E_AGAIN);
    assert_ends();
    assert_int_equal(stats().failures, 1);
}

TEST_WITH(where_an_old_dump_is_under_way_it_asks_again_at_its_end, setup, teardown)
{
    assert_int_equal(riptide_observer_start(observer), 0);
    say(NLMSG_ERROR, -EBUSY);
    say(NLMSG_DONE, 0); /* the old one's */
    assert_int_equal(run(), RIPTIDE_E_AGAIN);
    assert_ends();
    assert_int_equal(stats().failures, 0);
}

/* Its caller starts the next one time and again, as a host's timer does. */
TEST_WITH(a_dump_of_which_nothing_comes_is_given_up, setup, teardown)
{
    int n = 0, r;

    assert_int_equal(riptide_observer_start(observer), 0);
    do
        r = riptide_observer_start(observer);
    while (r == -EBUSY && ++n < MANY);
    assert_int_equal(r, -ETIMEDOUT);
    assert_in_range(n, 2, 10);
    assert_int_equal(stats().failures, 1);
    assert_int_equal(riptide_observer_start(observer), 0);
    assert_ends();
}

TEST_WITH(a_dump_that_makes_progress_is_not_given_up, setup, teardown)
{
    assert_int_equal(riptide_observer_start(observer), 0);
    for (int i = 0; i < 50; i++) {
        say(NLMSG_NOOP, 0);
        assert_int_equal(run(), RIPTIDE_E_AGAIN);
        assert_int_equal(riptide_observer_start(observer), -EBUSY);
    }
}
