/* SPDX-License-Identifier: MIT */
/*
 * lib/verdict/arm.h over a million cookies as kernels hand them out. Everything is computed, nothing
 * is drawn: what passes once passes always.
 */
#include "unit.h"
#include "verdict/arm.h"

enum { COOKIES = 1000000, PER_BLOCK = 4096, PROCESSORS = 3, SEQUENCES = 6, SEEDS = 4 };

static const uint64_t seeds[SEEDS] = { 0, 1, 2, UINT64_C(0xd1b54a32d192ed03) };

/* So large chance makes the largest of some forty once in a thousand times. */
static const double most = 25;

/* Counted up by 1, 2, 4 or 8, or down; or processors in turn, each from a block of its own. */
static uint64_t cookie(size_t sequence, uint64_t i)
{
    static const uint64_t steps[] = { 1, 2, 4, 8, (uint64_t)-1 };
    uint64_t turn = i / PROCESSORS, block = turn / PER_BLOCK * PROCESSORS + i % PROCESSORS;

    if (sequence < SEQUENCES - 1)
        return sequence + steps[sequence] * i;
    return (UINT64_C(1) << 36) + block * PER_BLOCK + turn % PER_BLOCK + 1;
}

static double chi_square(const uint32_t *counts, const double *shares, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        double gap = counts[i] - COOKIES * shares[i];

        sum += gap * gap / (COOKIES * shares[i]);
    }
    return sum;
}

/* As large as their shares, under another seed and for a neighbour. */
static void assert_independent(size_t sequence, uint64_t seed, uint64_t other_seed, uint64_t step)
{
    static const double shares[ARMS * ARMS] = { 0.95 * 0.95, 0.95 * 0.05, 0.05 * 0.95,
                                                0.05 * 0.05 };
    uint32_t counts[ARMS * ARMS] = { 0 };

    for (uint64_t i = 0; i < COOKIES; i++)
        counts[arm_of(arm_hash(cookie(sequence, i), seed), ARM_SHARE(5)) * ARMS +
               arm_of(arm_hash(cookie(sequence, i + step), other_seed), ARM_SHARE(5))]++;
    assert_true(chi_square(counts, shares, ARMS * ARMS) < most);
}

TEST(arms_have_their_shares_whatever_seeds_and_neighbours_have)
{
    for (size_t s = 0; s < SEQUENCES; s++) {
        /* A seed is no shift of the sequence either. */
        for (size_t i = 0; i < 2 * (SEEDS - 1); i++)
            assert_independent(s, seeds[i / 2 + 1], seeds[i / 2], i % 2);
        for (uint64_t step = 1; step <= 8; step *= 2)
            assert_independent(s, 7, 7, step);
    }
}

/* The kernel and who reads the event may have been compiled at different times. */
TEST(arms_stay_what_they_were)
{
    static const char arms[] = "10100010000101110000001010101000";

    for (size_t i = 0; i < sizeof(arms) - 1; i++)
        assert_int_equal(arm_of(arm_hash(i, 42), ARM_SHARE(25)), arms[i] - '0');
}

TEST(shares_of_all_and_of_none)
{
    for (uint64_t i = 0; i < 100000; i++)
        assert_true(arm_of(arm_hash(i, 1), 0) == ARM_WINDOW &&
                    arm_of(arm_hash(i, 1), ARM_SHARE(100)) == ARM_HOLDOUT);
}
