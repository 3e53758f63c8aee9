/* SPDX-License-Identifier: MIT */
/*
 * Lines of a log that come again and again, at literal times.
 */
#include "repeats.h"
#include "unit.h"

#define S UINT64_C(1000000000)

static const char a[] = "a", b[] = "b";

static void fill(struct repeats *repeats, const char *kind, uint64_t now_ns)
{
    for (int i = 0; i < REPEATS_BURST; i++)
        assert_null(repeats_hold(repeats, kind, now_ns));
}

TEST(burst_is_written_and_the_rest_counted)
{
    struct repeats repeats = { 0 };
    const struct repeat *due;
    uint32_t held;

    fill(&repeats, a, 5 * S);
    for (int i = 0; i < 41; i++)
        assert_non_null(repeats_hold(&repeats, a, 6 * S));
    strcpy(repeats_hold(&repeats, a, 7 * S)->text, "the last one");
    assert_null(repeats_due(&repeats, 65 * S - 1, &held));
    due = repeats_due(&repeats, 65 * S, &held);
    assert_non_null(due);
    assert_string_equal(due->text, "the last one");
    assert_int_equal(held, 42);
    assert_null(repeats_due(&repeats, 65 * S, &held));
}

TEST(next_minute_begins_with_its_first_line)
{
    struct repeats repeats = { 0 };
    uint32_t held;

    fill(&repeats, a, 0);
    assert_non_null(repeats_hold(&repeats, a, 59 * S));
    assert_non_null(repeats_due(&repeats, 60 * S, &held));
    fill(&repeats, a, 100 * S);
    assert_non_null(repeats_hold(&repeats, a, 159 * S));
    assert_null(repeats_due(&repeats, 160 * S - 1, &held));
}

TEST(slow_lines_are_never_held_back)
{
    struct repeats repeats = { 0 };
    uint32_t held;

    for (uint64_t i = 0; i < 1000; i++)
        assert_null(repeats_hold(&repeats, a, 2 * i * S));
    assert_null(repeats_due(&repeats, UINT64_MAX, &held));
}

TEST(kinds_do_not_count_for_each_other)
{
    struct repeats repeats = { 0 };
    uint32_t held;

    fill(&repeats, a, 0);
    fill(&repeats, b, 0);
    assert_non_null(repeats_hold(&repeats, a, 0));
    assert_non_null(repeats_hold(&repeats, b, 0));
    assert_ptr_equal(repeats_due(&repeats, UINT64_MAX, &held)->kind, a);
    assert_ptr_equal(repeats_due(&repeats, UINT64_MAX, &held)->kind, b);
    assert_null(repeats_due(&repeats, UINT64_MAX, &held));
}

TEST(more_kinds_than_room_are_written)
{
    static const char kinds[REPEATS_KINDS];
    struct repeats repeats = { 0 };

    for (int i = 0; i < REPEATS_KINDS; i++)
        assert_null(repeats_hold(&repeats, &kinds[i], 0));
    for (int i = 0; i < 2 * REPEATS_BURST; i++)
        assert_null(repeats_hold(&repeats, a, 0));
}
