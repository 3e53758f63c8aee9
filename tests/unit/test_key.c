/* SPDX-License-Identifier: MIT */
/*
 * What is wanted for a prefix as the program's map has it.
 */
#include "apply/program/program.h"
#include "unit.h"

static struct window_key key_of(const char *text)
{
    struct riptide_prefix prefix;

    assert_int_equal(riptide_prefix_parse(&prefix, text), 0);
    return window_key_of(&prefix);
}

TEST(a_key_is_the_family_and_the_address)
{
    static const struct {
        const char *prefix;
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

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct window_key key = key_of(rows[i].prefix);

        assert_int_equal(key.prefix_bits, rows[i].bits);
        assert_int_equal(key.family, rows[i].family);
        assert_memory_equal(key.address, rows[i].address, sizeof(key.address));
    }
}

TEST(a_window_is_within_its_bound)
{
    const struct riptide_wanted wanted = { .initcwnd = 60,
                                           .may_lower = true,
                                           .rto_min_us = 1,
                                           .receive_bytes = 2,
                                           .pacing_percent = 3,
                                           .rtt_us = 4 };
    struct riptide_wanted bounded = wanted;
    struct window window = window_of(&wanted, false);
    const struct window expected = { 60, true, 1, 2, 3, 4, 0, 0 };

    assert_memory_equal(&window, &expected, sizeof(window));
    bounded.cwnd_max = 44;
    assert_int_equal(window_of(&bounded, false).initcwnd, 44);
    bounded.cwnd_max = 61;
    assert_int_equal(window_of(&bounded, false).initcwnd, 60);
}
