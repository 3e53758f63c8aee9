/* SPDX-License-Identifier: MIT */
/*
 * lib/proof/turns.h: which rounds a turn has, its lot over prefixes and turns, and its one entry.
 * Everything is computed, nothing is drawn.
 */
#include "proof/turns.h"
#include "unit.h"

enum { LENGTH = 1000 };

/* Rounds at these times, from `turns` on, each with its expected result. */
struct round {
    uint64_t at;
    enum turn_step step;
    enum turn_phase phase;
};

static void check(struct turns *turns, const struct round *rounds, size_t n, bool was_whole)
{
    bool is_whole = false;

    for (size_t i = 0; i < n; i++) {
        assert_int_equal(turns_round(turns, LENGTH, rounds[i].at, &is_whole), rounds[i].step);
        assert_int_equal(turns->phase, rounds[i].phase);
    }
    assert_true(is_whole == was_whole);
}

#define CHECK(turns, was_whole, ...)                                                               \
    do {                                                                                           \
        const struct round rounds[] = { __VA_ARGS__ };                                             \
        check(turns, rounds, sizeof(rounds) / sizeof(rounds[0]), was_whole);                       \
    } while (0)

#define GUARD(from)                                                                                \
    { (from), TURN_NEW, TURN_BEGINS }, { (from) + 30, TURN_STAYS, TURN_BEGINS },                   \
        { (from) + 60, TURN_STAYS, TURN_BEGINS }

TEST(a_turn_counts_between_its_guard_times)
{
    struct turns turns = { 0 };

    CHECK(&turns, true, GUARD(5000), { 5100, TURN_OPENS, TURN_COUNTS },
          { 5500, TURN_STAYS, TURN_COUNTS }, { 5900, TURN_CLOSES, TURN_ENDS },
          { 5999, TURN_STAYS, TURN_ENDS }, GUARD(6000));
}

TEST(the_turn_in_which_it_starts_does_not_count)
{
    struct turns turns = { 0 };

    CHECK(&turns, false, { 5500, TURN_NEW, TURN_VOID }, { 5900, TURN_STAYS, TURN_VOID },
          GUARD(6000));
}

TEST(a_turn_whose_guard_time_was_missed_is_void)
{
    struct turns turns = { 0 };

    /* Too few rounds. */
    CHECK(&turns, false, { 5000, TURN_NEW, TURN_BEGINS }, { 5050, TURN_STAYS, TURN_BEGINS },
          { 5100, TURN_STAYS, TURN_VOID }, { 5900, TURN_STAYS, TURN_VOID });
    /* Nobody has marked who was open before the last one. */
    CHECK(&turns, false, GUARD(6000), { 6950, TURN_STAYS, TURN_VOID }, GUARD(7000),
          { 7100, TURN_OPENS, TURN_COUNTS }, { 8000, TURN_NEW, TURN_BEGINS });
    /* A turn later. */
    CHECK(&turns, false, GUARD(9000), { 9100, TURN_OPENS, TURN_COUNTS },
          { 9900, TURN_CLOSES, TURN_ENDS }, { 11000, TURN_NEW, TURN_BEGINS });
}

static const uint32_t usual = ARM_SHARE(5);

enum { DSTS = 1000, TURNS = 1000 };

static struct riptide_prefix dst_at(unsigned int i, bool is_v6)
{
    uint8_t high = (uint8_t)(i >> 8), low = (uint8_t)i;

    if (is_v6)
        return (struct riptide_prefix){ 10, 48, { 0x20, 1, 0xd, 0xb8, high, low } };
    return (struct riptide_prefix){ 2, 24, { 10, high, low } };
}

static bool is_out(unsigned int dst, bool is_v6, uint64_t turn, uint64_t seed)
{
    const struct riptide_prefix prefix = dst_at(dst, is_v6);

    return arm_of_turn(&prefix, turn, seed, usual) == ARM_HOLDOUT;
}

/* Of two draws of 5 % each: how far the counts are from independence. */
static double chi_square(uint32_t counts[2][2])
{
    double sum = 0;

    for (int i = 0; i < 4; i++) {
        double due = (double)DSTS * TURNS * (i / 2 ? 0.05 : 0.95) * (i % 2 ? 0.05 : 0.95);
        double gap = counts[i / 2][i % 2] - due;

        sum += gap * gap / due;
    }
    return sum;
}

/* Over a million: the next turn, the next destination, and the other seed. */
TEST(lots_of_destinations_and_turns_are_independent)
{
    double worst = 0;

    for (int kind = 0; kind < 6; kind++) {
        uint32_t counts[2][2] = { 0 };
        bool is_v6 = kind % 2;

        for (unsigned int i = 0; i < DSTS * TURNS; i++) {
            unsigned int dst = i / TURNS, turn = i % TURNS + 2900000;
            bool other = is_out(dst + (kind / 2 == 0), is_v6, turn + (kind / 2 == 1),
                                7 + (kind / 2 == 2));

            counts[is_out(dst, is_v6, turn, 7)][other]++;
        }
        worst = chi_square(counts) > worst ? chi_square(counts) : worst;
    }
    print_message("# largest chi square of 6, 3 degrees of freedom: %.1f\n", worst);
    assert_true(worst < 20);
}

TEST(a_turn_is_one_entry_of_means)
{
    const struct book_cell sums = { 4, 1, 4 * BOOK_TIME_ONE + 1, 99, BOOK_AGAIN_ONE / 2, 99 };
    const struct book_line line = turn_line(17, &sums);

    assert_int_equal(line.class, 17);
    assert_int_equal(line.outcome.n, 1);
    assert_int_equal(line.outcome.n_again, 1);
    assert_int_equal(line.outcome.time_sum, BOOK_TIME_ONE);
    assert_int_equal(line.outcome.again_sum, BOOK_AGAIN_ONE / 8);
    assert_true(book_cell_is_valid(&line.outcome));
}
