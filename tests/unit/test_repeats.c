/* SPDX-License-Identifier: MIT */
/*
 * Lines of a log that come again and again, at literal times.
 */
#include "log.h"
#include "unit.h"

#define S UINT64_C(1000000000)

static const char a[] = "a", b[] = "b";

TEST(minute_begins_with_its_first_line)
{
    struct repeats repeats = { 0 };

    assert_int_equal(repeats_count(&repeats, a, 5 * S), 1);
    assert_int_equal(repeats_count(&repeats, a, 6 * S), 2);
    assert_int_equal(repeats_count(&repeats, a, 65 * S - 1), 3);
    assert_int_equal(repeats_count(&repeats, a, 100 * S), 1);
    assert_int_equal(repeats_count(&repeats, a, 159 * S), 2);
    assert_int_equal(repeats_count(&repeats, a, 160 * S), 1);
}

TEST(kinds_do_not_count_for_each_other)
{
    struct repeats repeats = { 0 };

    assert_int_equal(repeats_count(&repeats, a, 0), 1);
    assert_int_equal(repeats_count(&repeats, b, 0), 1);
    assert_int_equal(repeats_count(&repeats, a, 0), 2);
}

TEST(kinds_without_room_are_not_counted)
{
    static const char kinds[REPEATS_KINDS];
    struct repeats repeats = { 0 };

    for (int i = 0; i < REPEATS_KINDS; i++)
        assert_int_equal(repeats_count(&repeats, &kinds[i], 0), 1);
    for (int i = 0; i < 2 * REPEATS_BURST; i++)
        assert_int_equal(repeats_count(&repeats, a, 0), 1);
}
