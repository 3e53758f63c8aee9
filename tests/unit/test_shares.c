/* SPDX-License-Identifier: MIT */
/* lib/compute/shares: the largest share, whatever comes and goes. */
#include "compute/shares.h"

#include "internal.h"
#include "prefix.h"
#include "unit.h"

enum { PREFIXES = 64, MAX_SIZE = 9, STEPS = 20000 };

/* Valid until the next one. */
static const struct riptide_prefix *prefix_number(uint32_t i)
{
    static struct riptide_prefix within;

    within = (struct riptide_prefix){ AF_INET, 24, { 10, (uint8_t)(i >> 8), (uint8_t)i } };
    return &within;
}

static uint32_t largest_of(const uint32_t *sizes)
{
    uint32_t largest = 0;

    for (uint32_t i = 0; i < PREFIXES; i++)
        largest = sizes[i] > largest ? sizes[i] : largest;
    return largest;
}

/* Against a walk over all of them, after each of many steps. */
TEST(shares_largest_is_exact)
{
    CLEANUP(shares_deinit) struct shares shares;
    uint32_t sizes[PREFIXES] = { 0 }, n;

    assert_int_equal(shares_init(&shares, PREFIXES, MAX_SIZE), 0);
    assert_null(shares_find_largest(&shares));
    for (int i = 0; i < STEPS; i++) {
        /* For a while most come, then most go, until there is none. */
        bool comes = i < STEPS / 2 ? below(3) > 0 : below(3) == 0;
        uint32_t number = below(PREFIXES);
        const struct share *largest;

        if (comes && sizes[number] < MAX_SIZE) {
            assert_int_equal(shares_enter(&shares, prefix_number(number), &n), 0);
            assert_int_equal(n, ++sizes[number]);
        } else if (!comes && sizes[number] > 0) {
            shares_leave(&shares, prefix_number(number));
            sizes[number]--;
        }
        largest = shares_find_largest(&shares);
        assert_int_equal(largest ? largest->n_destinations : 0, largest_of(sizes));
        for (uint32_t j = 0; largest && j < PREFIXES; j++) {
            if (prefix_equal(&largest->within, prefix_number(j)))
                assert_int_equal(sizes[j], largest->n_destinations);
        }
    }
}

TEST(shares_are_bounded)
{
    CLEANUP(shares_deinit) struct shares shares;
    uint32_t n;

    assert_int_equal(shares_init(&shares, 2, 1), 0);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(shares_enter(&shares, prefix_number(i), &n), 0);
    assert_int_equal(shares_enter(&shares, prefix_number(2), &n), RIPTIDE_E_FULL);
    assert_int_equal(shares_find_largest(&shares)->n_destinations, 1);
}

/* The table offers no slot to a walk, so that one would find nothing. */
TEST(shares_largest_needs_no_walk)
{
    CLEANUP(shares_deinit) struct shares shares;
    uint32_t n;

    assert_int_equal(shares_init(&shares, PREFIXES, MAX_SIZE), 0);
    for (uint32_t i = 0; i < PREFIXES; i++)
        assert_int_equal(shares_enter(&shares, prefix_number(i), &n), 0);
    shares.table.n_slots = 0;
    assert_non_null(shares_find_largest(&shares));
}
