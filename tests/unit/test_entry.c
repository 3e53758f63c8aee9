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
        struct window_key key = window_key_of(prefix_at(row->dst));

        assert_int_equal(key.prefix_bits, row->bits);
        assert_int_equal(key.family, row->family);
        assert_memory_equal(key.address, row->address, sizeof(key.address));
    }
}

/* With a bound of its own without pacing, where it may fit only when it is paced. */
TEST(entry_is_what_is_wanted_as_far_as_the_host_can)
{
    static const struct {
        struct riptide_wanted wanted;
        bool can_pace, is_beside_routes;
        struct window expected;
    } rows[] = {
        { { .initcwnd = 60, .may_lower = true, .rto_min_us = 1, .cwnd_max = 100,
            .pacing_percent = 70, .rtt_us = 5000 },
          true, false, { 60, true, 1, 146000, 70, 5000, .bucket = 6 } },
        /* beside a route that of the route */
        { { .initcwnd = 60 }, true, true,
          { 60, .pacing_percent = 50, .route_cwnd_max = 66, .base_cwnd = 10, .bucket = 6 } },
        { { .initcwnd = 60, .base_cwnd = 20 }, true, true,
          { 60, .pacing_percent = 50, .route_cwnd_max = 66, .base_cwnd = 20, .bucket = 6 } },
        /* buckets */
        { { .initcwnd = 1 }, false, false, { 1, .bucket = 0 } },
        { { .initcwnd = 10 }, false, false, { 10, .bucket = 0 } },
        { { .initcwnd = 11 }, false, false, { 11, .bucket = 1 } },
        { { .initcwnd = 500 }, false, false, { 500, .bucket = 10 } },
        { { .initcwnd = 501 }, false, false, { 501, .bucket = 11 } },
        { { .initcwnd = 65535 }, false, false, { 65535, .bucket = 11 } },
        /* pacing is half a round trip or more, and not on short paths */
        { { .initcwnd = 0 }, true, false, { .pacing_percent = 50 } },
        { { .pacing_percent = 20 }, true, false, { .pacing_percent = 50 } },
        { { .pacing_percent = 100 }, false, false, { .pacing_percent = 0 } },
        { { .pacing_percent = 100, .rtt_us = 4999 }, true, false, { .rtt_us = 4999 } },
        { { .pacing_percent = 100, .rtt_us = 5000 }, true, false,
          { .pacing_percent = 100, .rtt_us = 5000 } },
        { { .pacing_percent = 101, .rtt_us = 5000 }, true, false, { .rtt_us = 5000 } },
        { { .pacing_percent = RIPTIDE_AT_ONCE }, true, false, { .pacing_percent = 0 } },
        /* what may need it is bounded without */
        { { .initcwnd = 60, .pacing_percent = 100 }, true, false,
          { 60, .pacing_percent = 100, .bucket = 6 } },
        { { .initcwnd = 60, .pacing_percent = 100 }, false, false, { 24, .bucket = 3 } },
        { { .initcwnd = 60, .pacing_percent = 1, .base_cwnd = 40 }, false, false,
          { 40, .bucket = 4 } },
        { { .initcwnd = 60, .pacing_percent = 100, .base_cwnd = 80 }, false, false,
          { 60, .bucket = 6 } },
        { { .initcwnd = 60 }, false, false, { 60, .bucket = 6 } },
        { { .initcwnd = 60, .pacing_percent = RIPTIDE_AT_ONCE }, false, false,
          { 60, .bucket = 6 } },
    };

    EACH(row, rows) {
        struct window window = window_of(&row->wanted, row->can_pace, row->is_beside_routes);

        assert_row(memcmp(&window, &row->expected, sizeof(window)) == 0);
    }
}

/* One that is not loaded, so that the kernel refuses each window; dry: takes it. */
static struct program program_with(const struct riptide_applier_config *config)
{
    return (struct program){ .config = config, .fds = { -1, -1, -1, -1, -1 } };
}

static int set_window(struct program *program, struct riptide_prefix dst, uint32_t initcwnd)
{
    const struct riptide_wanted wanted = { .dst = dst, .initcwnd = initcwnd };

    return windows_set(program, &wanted);
}

/* The window of the next outcome, or -errno where it failed; 0: there is none. */
static int pop_window(struct program *program)
{
    struct riptide_route route;

    if (windows_pop(program, &route) != 0)
        return 0;
    return route.error ? route.error : (int)route.initcwnd;
}

static struct riptide_prefix destination(uint32_t i)
{
    return (struct riptide_prefix){ AF_INET, 32, { 10, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i } };
}

TEST(windows_refused_wait_for_a_tick)
{
    const struct riptide_applier_config config = { .dry_run = false };
    struct program program = program_with(&config);

    prefix_table_init(&program.queue, sizeof(struct queued), 2);
    assert_int_equal(set_window(&program, destination(1), 20), 0);
    assert_int_equal(set_window(&program, destination(2), 20), 0);
    assert_int_equal(windows_dispatch(&program), 0);
    assert_int_equal(pop_window(&program), -EBADF);
    assert_int_equal(pop_window(&program), 0);
    assert_true(windows_are_idle(&program));
    /* Each takes the place of the one before, and a refusal is told of each. */
    for (uint32_t initcwnd = 21; initcwnd <= 60; initcwnd++)
        assert_int_equal(set_window(&program, destination(1), initcwnd), 0);
    assert_int_equal(pop_window(&program), -EBADF);
    assert_int_equal(set_window(&program, destination(3), 20), RIPTIDE_E_FULL);
    assert_int_equal(program.waiting.n, 2);
    assert_int_equal(program.outcomes.n, 0);
    windows_tick(&program);
    assert_false(windows_are_idle(&program));
    prefix_table_deinit(&program.queue);
}

TEST(windows_are_bounded)
{
    enum { MANY = 64000 };
    const struct riptide_applier_config config = { .dry_run = true };
    struct program program = program_with(&config);

    prefix_table_init(&program.queue, sizeof(struct queued), MANY);
    for (uint32_t i = 0; i < 1000000; i++)
        assert_int_equal(set_window(&program, destination(1), 20 + i % 2), 0);
    assert_int_equal(program.queue.n, 1);
    assert_int_equal(windows_dispatch(&program), 0);
    assert_int_equal(pop_window(&program), 21);
    /* A search of all that wait for each of them would not come to an end here. */
    for (int times = 0; times < 2; times++) {
        for (uint32_t i = 0; i < MANY; i++)
            assert_int_equal(set_window(&program, destination(i), 30), 0);
    }
    assert_int_equal(set_window(&program, destination(MANY), 30), RIPTIDE_E_FULL);
    assert_int_equal(program.waiting.n, MANY);
    /* Outcomes that nobody pops give way. */
    assert_int_equal(windows_dispatch(&program), RIPTIDE_E_MORE);
    assert_int_equal(set_window(&program, destination(MANY), 40), 0);
    while (windows_dispatch(&program) == RIPTIDE_E_MORE)
        ;
    assert_int_equal(program.queue.n, MANY);
    windows_tick(&program);
    assert_int_equal(program.outcomes.n, 512);
    prefix_table_deinit(&program.queue);
}

/* The outcome of a former window is that of the new one; and in the order of writing. */
TEST(windows_set_again_before_a_pop)
{
    const struct riptide_applier_config config = { .dry_run = true };
    struct program program = program_with(&config);

    prefix_table_init(&program.queue, sizeof(struct queued), 3);
    for (uint32_t i = 1; i <= 3; i++)
        assert_int_equal(set_window(&program, destination(i), 20 + i), 0);
    assert_int_equal(windows_dispatch(&program), 0);
    assert_int_equal(set_window(&program, destination(2), 50), 0);
    assert_int_equal(set_window(&program, destination(1), 40), 0);
    assert_int_equal(pop_window(&program), 23);
    assert_int_equal(pop_window(&program), 0);
    assert_int_equal(windows_dispatch(&program), 0);
    assert_int_equal(pop_window(&program), 50);
    assert_int_equal(pop_window(&program), 40);
    assert_int_equal(pop_window(&program), 0);
    assert_int_equal(program.queue.n, 0);
    windows_tick(&program);
    prefix_table_deinit(&program.queue);
}
