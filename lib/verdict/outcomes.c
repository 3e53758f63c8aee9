/* SPDX-License-Identifier: MIT */
/* Which closed connections count, what each adds, and sums of these; see verdict.h. */
#include "verdict/verdict.h"

#include "internal.h"
#include "verdict/numbers.h"

/* Doublings up to 1 MB, then 4 MB. */
const uint32_t class_bytes[SIZES] = {
    0, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 4 << 20,
};
/* On shorter paths than the first, busy time in jiffies is too coarse, and nothing counts. */
const uint32_t class_rtt_us[RTTS] = { 5000, 20000, 50000, 100000, 150000, 300000 };

/* Time in 1/1,024 of a doubling, shares in 1/16,384, and squares in squares of these. */
const double sum_unit[SUMS] = {
    [SUM_CONNECTIONS] = 1,
    [SUM_TIME] = 0x1p-10,
    [SUM_TIME_SQUARES] = 0x1p-20,
    [SUM_RETRANSMITTED] = 0x1p-14,
    [SUM_RETRANSMITTED_SQUARES] = 0x1p-28,
};

/* The longest time, in round trips. A longer one counts as this, so that SUM_TIME is up to 20. */
enum { MOST_DOUBLINGS = 20, MOST_ROUNDS = 1 << MOST_DOUBLINGS };

/* The last group that begins at or below the value. From below, as most values are small. */
static size_t find_group(const uint32_t *begins, size_t n, uint64_t value)
{
    size_t i = 0;

    while (i + 1 < n && value >= begins[i + 1])
        i++;
    return i;
}

static double rounded_to(double unit, double value)
{
    return (double)(uint64_t)(value / unit + 0.5) * unit;
}

enum outcome_entry outcome_of(struct outcome *outcome, const struct riptide_sample *sample,
                              uint32_t path_rtt_us)
{
    uint64_t sent = sample->data_segs_out, mss_bytes = sample->mss_bytes;
    /* Segments sent, without retransmissions. */
    uint64_t once = sent > sample->retrans_segs ? sent - sample->retrans_segs : 1;
    uint32_t rtt_us = path_rtt_us > 0 ? path_rtt_us : sample->min_rtt_us;
    double rounds, time, share;

    /* Most connections: the cheapest reason comes first. */
    if (sample->acked_bytes <= TCP_INIT_CWND * mss_bytes)
        return OUTCOME_SMALL;
    if (sample->busy_time_us == 0 || sample->min_rtt_us == 0 || mss_bytes == 0 || sent == 0 ||
        rtt_us < class_rtt_us[0])
        return OUTCOME_UNMEASURED;
    if (sample->acked_bytes < once * mss_bytes / 2)
        return OUTCOME_APPLICATION;
    /* Jiffies can make a time shorter than a round trip, but data takes at least one. */
    rounds = lesser(greater((double)sample->busy_time_us / sample->min_rtt_us, 1), MOST_ROUNDS);
    time = rounded_to(sum_unit[SUM_TIME], natural_log(rounds) / LN_2);
    share = rounded_to(sum_unit[SUM_RETRANSMITTED],
                       lesser((double)sample->retrans_segs / (double)sent, 1));
    *outcome = (struct outcome){
        .class = find_group(class_bytes, SIZES, sample->acked_bytes) * RTTS +
                 find_group(class_rtt_us, RTTS, rtt_us),
        .sums = { [SUM_CONNECTIONS] = 1,
                  [SUM_TIME] = time,
                  [SUM_TIME_SQUARES] = time * time,
                  [SUM_RETRANSMITTED] = share,
                  [SUM_RETRANSMITTED_SQUARES] = share * share },
    };
    return OUTCOME_COUNTS;
}

void sums_add(double sums[SUMS], const double more[SUMS], double times)
{
    for (size_t i = 0; i < SUMS; i++)
        sums[i] += times * more[i];
}

void outcomes_put(struct outcomes *outcomes, struct opened opened, size_t class,
                  const double sums[SUMS])
{
    sums_add(outcomes->sums[opened.phase][class][opened.arm], sums, 1);
}

void comparison_add(struct comparison *comparison, const struct comparison *more, double times)
{
    for (size_t class = 0; class < CLASSES; class ++) {
        sums_add(comparison->subject[class], more->subject[class], times);
        sums_add(comparison->baseline[class], more->baseline[class], times);
    }
}

double outcomes_count(const struct outcomes *outcomes, enum arm arm)
{
    double n = 0;

    for (size_t phase = 0; phase < HOLDOUT_PHASES; phase++) {
        for (size_t class = 0; class < CLASSES; class ++) {
            const double(*sums)[SUMS] = outcomes->sums[phase][class];

            if (arm != ARM_HOLDOUT)
                n += sums[ARM_WINDOW][SUM_CONNECTIONS];
            if (arm != ARM_WINDOW)
                n += sums[ARM_HOLDOUT][SUM_CONNECTIONS];
        }
    }
    return n;
}

/*
 * Whether n outcomes of 0 to `most` can have this sum and, behind it, this sum of squares. Squares
 * sum up to least where all outcomes are equal; the factor allows for rounding. A NaN never fits.
 */
static bool sums_fit(double n, const double *sums, double most)
{
    return sums[0] >= 0 && sums[0] <= n * most && sums[1] <= sums[0] * most &&
           sums[0] * sums[0] <= n * sums[1] * (1 + 1e-9);
}

bool sums_are_possible(const double sums[SUMS])
{
    double n = sums[SUM_CONNECTIONS];

    return n >= 1 && n <= 1e15 && sums_fit(n, &sums[SUM_TIME], MOST_DOUBLINGS) &&
           sums_fit(n, &sums[SUM_RETRANSMITTED], 1);
}
