/* SPDX-License-Identifier: MIT */
/*
 * lib/verdict/arm.h over a million cookies as kernels hand them out. Everything is computed, nothing
 * is drawn: what passes once passes always. And that it compiles for BPF: tests/unit/meson.build.
 */
#include "verdict/arm.h"
#include "unit.h"

enum { COOKIES = 1000000, PER_BLOCK = 4096, PROCESSORS = 3 };

static const uint64_t seeds[] = { 0, 1, 2, UINT64_C(0xd1b54a32d192ed03) };

static const uint32_t usual = ARM_SHARE(5);
static const double expected[ARMS] = { 0.95, 0.05 };

static uint64_t count_up(uint64_t i)
{
    return 1 + i;
}

static uint64_t each_second(uint64_t i)
{
    return 2 * i;
}

static uint64_t each_fourth(uint64_t i)
{
    return 3 + 4 * i;
}

static uint64_t each_eighth(uint64_t i)
{
    return 8 * i;
}

/* Processors in turn, each from a block of its own, of a host that has been up for long. */
static uint64_t by_processor(uint64_t i)
{
    uint64_t turn = i / PROCESSORS, block = turn / PER_BLOCK * PROCESSORS + i % PROCESSORS;

    return (UINT64_C(1) << 36) + block * PER_BLOCK + turn % PER_BLOCK + 1;
}

static uint64_t count_down(uint64_t i)
{
    return UINT64_MAX - i;
}

static uint64_t (*const sequences[])(uint64_t i) = { count_up,    each_second,  each_fourth,
                                                     each_eighth, by_processor, count_down };

enum { SEQUENCES = sizeof(sequences) / sizeof(sequences[0]), SEEDS = sizeof(seeds) / 8 };

/* So large chance makes the largest of some forty once in a thousand times. */
static const double most_1 = 17, most_3 = 25;

static const double expected_half[ARMS] = { 0.5, 0.5 };

static double chi_square(const uint32_t *counts, const double *shares, size_t n, double all)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        double gap = counts[i] - all * shares[i];

        assert_true(shares[i] > 0 || counts[i] == 0);
        sum += shares[i] > 0 ? gap * gap / (all * shares[i]) : 0;
    }
    return sum;
}

static double largest_chi_square(uint32_t holdout, const double *of_all)
{
    double worst = 0;

    for (size_t s = 0; s < SEQUENCES * SEEDS; s++) {
        uint32_t counts[ARMS] = { 0 };
        double chi2;

        for (uint64_t i = 0; i < COOKIES; i++)
            counts[arm_of(sequences[s / SEEDS](i), seeds[s % SEEDS], holdout)]++;
        chi2 = chi_square(counts, of_all, ARMS, COOKIES);
        worst = chi2 > worst ? chi2 : worst;
    }
    print_message("# largest chi square of %d, 1 degree of freedom: %.1f\n", SEQUENCES * SEEDS,
                  worst);
    return worst;
}

TEST(arms_are_as_large_as_their_shares)
{
    assert_true(largest_chi_square(usual, expected) < most_1);
    assert_true(largest_chi_square(ARM_SHARE(50), expected_half) < most_1);
}

/* What a connection falls into under another seed, or what falls to its neighbour. */
static double independence(uint64_t (*sequence)(uint64_t), uint64_t seed, uint64_t other_seed,
                           uint64_t step)
{
    uint32_t counts[ARMS * ARMS] = { 0 };
    double shares[ARMS * ARMS];

    for (size_t i = 0; i < ARMS * ARMS; i++)
        shares[i] = expected[i / ARMS] * expected[i % ARMS];
    for (uint64_t i = 0; i < COOKIES; i++)
        counts[arm_of(sequence(i), seed, usual) * ARMS +
               arm_of(sequence(i + step), other_seed, usual)]++;
    return chi_square(counts, shares, ARMS * ARMS, COOKIES);
}

TEST(seeds_are_independent)
{
    double worst = 0;

    for (size_t s = 0; s < SEQUENCES; s++) {
        for (size_t i = 0; i < 2 * (SEEDS - 1); i++) {
            /* A seed is no shift of the sequence either. */
            double chi2 = independence(sequences[s], seeds[i / 2 + 1], seeds[i / 2], i % 2);

            worst = chi2 > worst ? chi2 : worst;
        }
    }
    print_message("# largest chi square of %d, 3 degrees of freedom: %.1f\n",
                  SEQUENCES * 2 * (SEEDS - 1), worst);
    assert_true(worst < most_3);
}

TEST(neighbours_are_independent)
{
    double worst = 0;

    for (size_t s = 0; s < SEQUENCES; s++) {
        for (uint64_t step = 1; step <= 8; step *= 2) {
            double chi2 = independence(sequences[s], 7, 7, step);

            worst = chi2 > worst ? chi2 : worst;
        }
    }
    print_message("# largest chi square of %d, 3 degrees of freedom: %.1f\n", SEQUENCES * 4,
                  worst);
    assert_true(worst < most_3);
}

/* The kernel and who reads the event may have been compiled at different times. */
TEST(arms_stay_what_they_were)
{
    static const char arms[] = "10100010000101110000001010101000";

    for (size_t i = 0; i < sizeof(arms) - 1; i++)
        assert_int_equal(arm_of(i, 42, ARM_SHARE(25)), arms[i] - '0');
}

TEST(shares_of_all_and_of_none)
{
    uint32_t others = 0;

    for (uint64_t i = 0; i < 100000; i++) {
        assert_int_equal(arm_of(i, 1, 0), ARM_WINDOW);
        others += arm_of(i, 1, ARM_SHARE(100)) != ARM_HOLDOUT;
    }
    assert_int_equal(others, 0);
}
