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

TEST(entry_is_what_was_decided_and_what_is_wanted)
{
    static const struct {
        struct riptide_wanted wanted;
        struct program_decision decision;
        struct window expected;
    } rows[] = {
        { { .initcwnd = 70, .may_lower = true, .rto_min_us = 1, .cwnd_max = 100, .rtt_us = 5000 },
          { .initcwnd = 60, .pacing_percent = 70, .route_cwnd_max = 66, .base_cwnd = 20 },
          { 60, true, 1, 146000, 70, 5000, 66, 20, .bucket = 6 } },
        { { .initcwnd = 60 }, { .initcwnd = 60 }, { 60, .bucket = 6 } },
        /* buckets */
        { { .initcwnd = 1 }, { .initcwnd = 1 }, { 1, .bucket = 0 } },
        { { .initcwnd = 10 }, { .initcwnd = 10 }, { 10, .bucket = 0 } },
        { { .initcwnd = 11 }, { .initcwnd = 11 }, { 11, .bucket = 1 } },
        { { .initcwnd = 500 }, { .initcwnd = 500 }, { 500, .bucket = 10 } },
        { { .initcwnd = 501 }, { .initcwnd = 501 }, { 501, .bucket = 11 } },
        { { .initcwnd = 65535 }, { .initcwnd = 65535 }, { 65535, .bucket = 11 } },
    };

    EACH(row, rows) {
        struct window window = window_of(&row->wanted, &row->decision);

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

    return windows_set(&program->backend, &wanted);
}

/* The window of the next outcome, or -errno where it failed; 0: there is none. */
static int pop_window(struct program *program)
{
    struct riptide_route route;

    if (windows_pop(&program->backend, &route) != 0)
        return 0;
    return route.error ? route.error : (int)route.initcwnd;
}

static struct riptide_prefix destination(uint32_t i)
{
    return (struct riptide_prefix){ AF_INET,
                                    32,
                                    { 10, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i } };
}

TEST(event_has_the_window_that_the_kernel_has)
{
    static const struct {
        uint32_t initcwnd;
        bool can_pace;
        uint32_t told, bound;
    } rows[] = {
        { 60, true, 60, RIPTIDE_REASON_NONE },      { 60, false, 24, RIPTIDE_REASON_UNPACED },
        { 5, true, 10, RIPTIDE_REASON_BELOW_BASE }, { 70, true, 66, RIPTIDE_REASON_ABOVE_MAX },
        { 0, true, 0, RIPTIDE_REASON_NONE },
    };
    const struct riptide_applier_config config = { .dry_run = true };

    EACH(row, rows) {
        struct program program = program_with(&config);
        const struct riptide_wanted wanted = { .dst = prefix("192.0.2.1"),
                                               .initcwnd = row->initcwnd,
                                               .cwnd_max = 66,
                                               .pacing_percent = 50 };
        struct riptide_route route;

        program.can_pace = row->can_pace;
        prefix_table_init(&program.queue, sizeof(struct queued), 1);
        assert_int_equal(windows_set(&program.backend, &wanted), 0);
        assert_int_equal(windows_dispatch(&program.backend), 0);
        assert_int_equal(windows_pop(&program.backend, &route), 0);
        assert_row(route.initcwnd == row->told);
        assert_row(route.bound == row->bound);
        prefix_table_deinit(&program.queue);
    }
}

TEST(windows_refused_wait_for_a_tick)
{
    const struct riptide_applier_config config = { .dry_run = false };
    struct program program = program_with(&config);

    prefix_table_init(&program.queue, sizeof(struct queued), 2);
    assert_int_equal(set_window(&program, destination(1), 20), 0);
    assert_int_equal(set_window(&program, destination(2), 20), 0);
    assert_int_equal(windows_dispatch(&program.backend), 0);
    assert_int_equal(pop_window(&program), -EBADF);
    assert_int_equal(pop_window(&program), 0);
    assert_true(windows_are_idle(&program));
    /* Each takes the place of the one before, and each refusal is an outcome. */
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
    assert_int_equal(windows_dispatch(&program.backend), 0);
    assert_int_equal(pop_window(&program), 21);
    /* A search of all that wait for each of them would not come to an end here. */
    for (int times = 0; times < 2; times++) {
        for (uint32_t i = 0; i < MANY; i++)
            assert_int_equal(set_window(&program, destination(i), 30), 0);
    }
    assert_int_equal(set_window(&program, destination(MANY), 30), RIPTIDE_E_FULL);
    assert_int_equal(program.waiting.n, MANY);
    /* Outcomes that nobody pops give way. */
    assert_int_equal(windows_dispatch(&program.backend), RIPTIDE_E_MORE);
    assert_int_equal(set_window(&program, destination(MANY), 40), 0);
    while (windows_dispatch(&program.backend) == RIPTIDE_E_MORE)
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
    assert_int_equal(windows_dispatch(&program.backend), 0);
    assert_int_equal(set_window(&program, destination(2), 50), 0);
    assert_int_equal(set_window(&program, destination(1), 40), 0);
    assert_int_equal(pop_window(&program), 23);
    assert_int_equal(pop_window(&program), 0);
    assert_int_equal(windows_dispatch(&program.backend), 0);
    assert_int_equal(pop_window(&program), 50);
    assert_int_equal(pop_window(&program), 40);
    assert_int_equal(pop_window(&program), 0);
    assert_int_equal(program.queue.n, 0);
    windows_tick(&program);
    prefix_table_deinit(&program.queue);
}
