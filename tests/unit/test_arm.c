/* SPDX-License-Identifier: MIT */
/*
 * lib/proof/arm.h over a million cookies as kernels hand them out. Everything is computed, nothing
 * is drawn: what passes once passes always. And that it compiles for BPF: tests/unit/meson.build.
 */
#include "proof/arm.h"
#include "unit.h"

enum { COOKIES = 1000000, PER_BLOCK = 4096, PROCESSORS = 3 };

static const uint64_t seeds[] = { 0, 1, 2, UINT64_C(0xd1b54a32d192ed03) };

static const struct arm_shares usual = { ARM_SHARE(5), ARM_SHARE(2.5), ARM_SHARE(2.5) };
static const double expected[ARMS] = { 0.9, 0.05, 0.025, 0.025 };

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
static const double most_3 = 25, most_15 = 50;

static const struct arm_config most = { .holdout_percent = 0, .trial_percent = 25 };
static const double expected_most[ARMS] = { 0.5, 0, 0.25, 0.25 };

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

static double largest_chi_square(const struct arm_shares *shares, const double *of_all)
{
    double worst = 0;

    for (size_t s = 0; s < SEQUENCES * SEEDS; s++) {
        uint32_t counts[ARMS] = { 0 };
        double chi2;

        for (uint64_t i = 0; i < COOKIES; i++)
            counts[arm_of(sequences[s / SEEDS](i), seeds[s % SEEDS], shares)]++;
        chi2 = chi_square(counts, of_all, ARMS, COOKIES);
        worst = chi2 > worst ? chi2 : worst;
    }
    print_message("# largest chi square of %d, 3 degrees of freedom: %.1f\n", SEQUENCES * SEEDS,
                  worst);
    return worst;
}

TEST(arms_are_as_large_as_their_shares)
{
    const struct arm_shares halves = arm_shares_of(&most);

    assert_true(largest_chi_square(&usual, expected) < most_3);
    assert_true(largest_chi_square(&halves, expected_most) < most_3);
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
        counts[arm_of(sequence(i), seed, &usual) * ARMS +
               arm_of(sequence(i + step), other_seed, &usual)]++;
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
    print_message("# largest chi square of %d, 15 degrees of freedom: %.1f\n",
                  SEQUENCES * 2 * (SEEDS - 1), worst);
    assert_true(worst < most_15);
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
    print_message("# largest chi square of %d, 15 degrees of freedom: %.1f\n", SEQUENCES * 4,
                  worst);
    assert_true(worst < most_15);
}

/* The kernel and who reads the event may have been compiled at different times. */
TEST(arms_stay_what_they_were)
{
    static const struct arm_shares quarters = { ARM_SHARE(25), ARM_SHARE(25), ARM_SHARE(25) };
    static const char arms[] = "13130310222121110200201013101033";

    for (size_t i = 0; i < sizeof(arms) - 1; i++)
        assert_int_equal(arm_of(i, 42, &quarters), arms[i] - '0');
}

TEST(shares_of_all_and_of_none)
{
    static const struct arm_shares none = { 0, 0, 0 };
    static const struct arm_shares all = { ARM_SHARE(100), 0, 0 };
    static const struct arm_shares halves = { 0, ARM_SHARE(50), ARM_SHARE(50) };
    uint32_t others = 0;

    for (uint64_t i = 0; i < 100000; i++) {
        assert_int_equal(arm_of(i, 1, &none), ARM_WINDOW);
        others += arm_of(i, 1, &all) != ARM_HOLDOUT;
        others += arm_of(i, 1, &halves) < ARM_SMALLER;
    }
    assert_int_equal(others, 0);
}

TEST(two_trials_are_one_half_or_twice_as_much)
{
    static const uint32_t ladder[] = { 10, 14, 20, 28, 40, 57, 81, 115 };

    for (size_t i = 0; i + 1 < sizeof(ladder) / sizeof(ladder[0]); i++) {
        assert_int_equal(arm_cwnd(ARM_LARGER, ladder[i], 0), ladder[i + 1]);
        assert_int_equal(arm_cwnd(ARM_SMALLER, ladder[i + 1], 0), ladder[i]);
    }
    for (uint32_t cwnd = 20; cwnd <= RIPTIDE_CWND_LIMIT; cwnd++) {
        uint32_t larger = arm_cwnd(ARM_LARGER, cwnd, 0), smaller = arm_cwnd(ARM_SMALLER, cwnd, 0);

        assert_int_equal(arm_cwnd(ARM_WINDOW, cwnd, 0), cwnd);
        assert_in_range(2 * cwnd + 1 - arm_cwnd(ARM_LARGER, larger, 0), 0, 2);
        assert_in_range(arm_cwnd(ARM_SMALLER, smaller, 0) + 1 - cwnd / 2, 0, 2);
    }
}

TEST(no_trial_is_below_the_kernels_window_or_above_the_bound)
{
    static const struct {
        uint32_t cwnd, max, smaller, larger;
    } cases[] = { { 0, 0, 0, 0 },     { 1, 0, 1, 1 },     { 9, 0, 9, 13 },   { 10, 12, 10, 12 },
                  { 11, 0, 10, 16 },  { 30, 30, 21, 30 }, { 70, 90, 49, 90 }, { 71, 101, 50, 100 },
                  { 65535, 0, 46340, 92681 } };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(arm_cwnd(ARM_SMALLER, cases[i].cwnd, cases[i].max), cases[i].smaller);
        assert_int_equal(arm_cwnd(ARM_LARGER, cases[i].cwnd, cases[i].max), cases[i].larger);
    }
}
