/* SPDX-License-Identifier: MIT */
/* What is wanted for a prefix as the program's map has it, and on its way there. */
#include "apply/program/program.h"
#include "unit.h"

TEST(key_is_the_family_and_the_address)
{
    static const struct {
        const char *dst;
        uint32_t family, bits;
        uint8_t address[16];
    } rows[] = {
        { "0.0.0.0/0", AF_INET, 32, { 0 } },
        { "203.0.113.0/24", AF_INET, 56, { 203, 0, 113, 0 } },
        { "203.0.113.9/32", AF_INET, 64, { 203, 0, 113, 9 } },
        { "::/0", AF_INET6, 32, { 0 } },
        { "2001:db8::/32", AF_INET6, 64, { 0x20, 0x01, 0x0d, 0xb8 } },
        { "2001:db8::7/128", AF_INET6, 160, { 0x20, 0x01, 0x0d, 0xb8, [15] = 7 } },
    };

    EACH(row, rows) {
        struct riptide_prefix dst = prefix(row->dst);
        struct window_key key = window_key_of(&dst);

        assert_int_equal(key.prefix_bits, row->bits);
        assert_int_equal(key.family, row->family);
        assert_memory_equal(key.address, row->address, sizeof(key.address));
    }
}

TEST(entry_has_what_is_wanted)
{
    const struct riptide_wanted wanted = { .initcwnd = 60, .may_lower = true, .rto_min_us = 1,
                                           .cwnd_max = 100, .pacing_percent = 70, .rtt_us = 5000 };
    struct window window = window_of(&wanted, true, false);
    const struct window expected = { 60, true, 1, 146000, 70, 5000, 0, 0, 6 };

    assert_memory_equal(&window, &expected, sizeof(window));
}

TEST(window_beside_a_route_names_that_of_the_route)
{
    const struct riptide_wanted wanted = { .initcwnd = 60 };
    const struct riptide_wanted above = { .initcwnd = 60, .base_cwnd = 20 };

    assert_int_equal(window_of(&wanted, true, true).route_cwnd_max, 66);
    assert_int_equal(window_of(&wanted, true, true).base_cwnd, 10);
    assert_int_equal(window_of(&above, true, true).base_cwnd, 20);
}

TEST(windows_are_counted_by_size)
{
    static const uint32_t cwnds[] = { 1, 10, 11, 500, 501, 65535 };
    static const uint32_t buckets[] = { 0, 0, 1, 10, 11, 11 };

    for (size_t i = 0; i < COUNT(cwnds); i++) {
        const struct riptide_wanted wanted = { .initcwnd = cwnds[i] };

        assert_int_equal(window_of(&wanted, true, false).bucket, buckets[i]);
    }
}

TEST(pacing_is_half_a_round_trip_or_more_and_not_on_short_paths)
{
    static const struct {
        uint32_t percent, rtt_us;
        bool can_pace;
        uint32_t expected;
    } rows[] = {
        { 0, 0, true, 50 },     { 0, 0, false, 0 },     { 20, 0, true, 50 },
        { 100, 0, false, 0 },   { 100, 4999, true, 0 }, { 100, 5000, true, 100 },
        { 101, 5000, true, 0 }, { RIPTIDE_AT_ONCE, 0, true, 0 },
    };

    EACH(row, rows) {
        const struct riptide_wanted wanted = { .initcwnd = 20,
                                               .pacing_percent = row->percent,
                                               .rtt_us = row->rtt_us };

        assert_row(window_of(&wanted, row->can_pace, false).pacing_percent == row->expected);
    }
}

TEST(window_that_fits_when_paced_is_bounded_without)
{
    static const struct {
        uint32_t percent, base_cwnd;
        bool can_pace;
        uint32_t expected;
    } rows[] = {
        { 100, 0, true, 60 }, { 100, 0, false, 24 },
        { 1, 40, false, 40 }, { 100, 80, false, 60 },
        { 0, 0, false, 60 },  { RIPTIDE_AT_ONCE, 0, false, 60 },
    };

    EACH(row, rows) {
        const struct riptide_wanted wanted = { .initcwnd = 60,
                                               .base_cwnd = row->base_cwnd,
                                               .pacing_percent = row->percent };

        assert_int_equal(window_of(&wanted, row->can_pace, false).initcwnd, row->expected);
    }
}

TEST(while_one_window_is_refused_the_newest_of_each_destination_waits)
{
    const struct riptide_applier_config config = { .dry_run = false };
    struct program program = { .config = &config, .fds = { -1, -1, -1, -1 } };
    struct riptide_wanted wanted = { .initcwnd = 20 };

    /* Two of one destination before the refusal, and of that the older one is first. */
    for (uint32_t i = 0; i < 3; i++) {
        wanted.dst = prefix(i ? "::2" : "::1");
        assert_int_equal(windows_set(&program, &wanted), 0);
    }
    assert_int_equal(windows_dispatch(&program), 0);
    assert_true(program.refusal < 0);
    for (wanted.initcwnd = 21; wanted.initcwnd <= 60; wanted.initcwnd++)
        assert_int_equal(windows_set(&program, &wanted), 0);
    assert_int_equal(program.n_queued, 3);
    assert_int_equal(program.queue[1].wanted.initcwnd, 20);
    assert_int_equal(program.queue[2].wanted.initcwnd, 60);
    /* Then it goes to the end: others may be taken. */
    windows_tick(&program);
    assert_int_equal(program.n_written, 1);
    assert_int_equal(program.n_queued, 4);
    assert_memory_equal(&program.queue[3].wanted, &program.queue[0].wanted, sizeof(wanted));
    free(program.queue);
}
