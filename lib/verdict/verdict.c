/* SPDX-License-Identifier: MIT */
/*
 * Difference of two arms, stratified over classes; see verdict.h. Intervals are those of
 * Waudby-Smith, Arbour, Sinha, Kennedy, Ramdas: "Time-uniform central limit theory and asymptotic
 * confidence sequences", Annals of Statistics 52, 2024, Theorem 2.2. docs/verdict.md has the
 * formulas.
 */
#include "verdict/verdict.h"

#include "internal.h"
#include "verdict/numbers.h"

#include <string.h>

/* The half-width at which an interval of its kind is narrowest: 3.0 standard errors. */
static const double sharp_time = 0.1, sharp_retransmitted = 0.01, sharp_share = 0.01;

/* Without a fault one host in 1,000 has a void verdict by chance. */
static const double share_alpha = 0.001;

/*
 * Where no outcome has varied yet, for example without retransmissions, one may later: each arm's
 * variance includes one more connection that differs from the mean by a factor of e in time, and by
 * a tenth in retransmissions.
 */
static const double unseen_time = 1, unseen_retransmitted = 0.1;

/* One figure of both arms: weighted sums over classes. */
struct pool {
    double weight;
    double means[ARMS], variances[ARMS];
};

/* Adds the figure of a class whose sums begin at `sum`, so many times its unit. */
static void pool_add(struct pool *pool, const double sums[ARMS][SUMS], enum sum sum, double unit)
{
    double weight = sums[ARM_WINDOW][SUM_CONNECTIONS] * sums[ARM_HOLDOUT][SUM_CONNECTIONS] /
                    (sums[ARM_WINDOW][SUM_CONNECTIONS] + sums[ARM_HOLDOUT][SUM_CONNECTIONS]);

    pool->weight += weight;
    for (enum arm arm = 0; arm < ARMS; arm++) {
        double n = sums[arm][SUM_CONNECTIONS], mean = sums[arm][sum] / n;
        double spread = greater(sums[arm][sum + 1] / n - mean * mean, 0);

        pool->means[arm] += weight * mean * unit;
        pool->variances[arm] += weight * spread * n / (n - 1) * unit * unit;
    }
}

/*
 * Theorem 2.2, where sigma^2 / t is the variance and rho = sharp / sigma; Section 3 has it for
 * differences of two arms. For Brownian motion it is the two-sided normal mixture of Howard,
 * Ramdas, McAuliffe, Sekhon: "Time-uniform, nonparametric, nonasymptotic confidence sequences",
 * Annals of Statistics 49, 2021, eq. 14.
 */
static double half_width(double variance, double sharp, double alpha)
{
    double ratio = variance / (sharp * sharp);

    return square_root(variance * (1 + ratio) *
                       (natural_log(1 + 1 / ratio) - 2 * natural_log(alpha)));
}

/*
 * If both arms had the same s^2, the variance of each class' difference would be s^2 / weight. The
 * holdout has few connections, which determine it, while the other arm estimates s^2 better: so the
 * larger one is used.
 */
static struct riptide_change compare(const struct pool *pool, const double n[ARMS], double unseen,
                                     double sharp, double alpha)
{
    double variances[ARMS], means[ARMS], change, width;

    for (enum arm arm = 0; arm < ARMS; arm++) {
        means[arm] = pool->means[arm] / pool->weight;
        variances[arm] = pool->variances[arm] / pool->weight + unseen * unseen / n[arm];
    }
    width = half_width(greater(variances[ARM_WINDOW], variances[ARM_HOLDOUT]) / pool->weight, sharp,
                       alpha);
    change = means[ARM_WINDOW] - means[ARM_HOLDOUT];
    return (struct riptide_change){ means[ARM_HOLDOUT], means[ARM_WINDOW], change, change - width,
                                    change + width };
}

int verdict_compute(struct verdict *verdict, const struct outcomes *outcomes, size_t class,
                    double alpha)
{
    struct pool time = { 0 }, retransmitted = { 0 };
    struct riptide_change logs, shares;
    double n[ARMS] = { 0 };

    for (size_t i = 0; i < (size_t)HOLDOUT_PHASES * CLASSES; i++) {
        const double(*sums)[SUMS] = outcomes->sums[i / CLASSES][i % CLASSES];

        if ((class != ALL_CLASSES && i % CLASSES != class) ||
            sums[ARM_WINDOW][SUM_CONNECTIONS] < 2 || sums[ARM_HOLDOUT][SUM_CONNECTIONS] < 2)
            continue;
        pool_add(&time, sums, SUM_TIME, LN_2);
        pool_add(&retransmitted, sums, SUM_RETRANSMITTED, 1);
        for (enum arm arm = 0; arm < ARMS; arm++)
            n[arm] += sums[arm][SUM_CONNECTIONS];
    }
    if (n[ARM_WINDOW] < VERDICT_MIN_CONNECTIONS || n[ARM_HOLDOUT] < VERDICT_MIN_CONNECTIONS)
        return RIPTIDE_E_UNKNOWN;
    logs = compare(&time, n, unseen_time, sharp_time, alpha);
    shares = compare(&retransmitted, n, unseen_retransmitted, sharp_retransmitted, alpha);
    /* Shares differ by at most 1. */
    shares.low = greater(shares.low, -1);
    shares.high = lesser(shares.high, 1);
    *verdict = (struct verdict){
        .n = { n[0], n[1] },
        .time = { exponential(logs.held_out), exponential(logs.with_window),
                  exponential(logs.change) - 1, exponential(logs.low) - 1,
                  exponential(logs.high) - 1 },
        .retransmitted = shares,
    };
    return 0;
}

struct held_share held_share_of(const struct experiment *experiment)
{
    double all = 0, held_out = 0, due = 0, share, variance, width;
    struct held_share found;

    for (size_t i = 0; i < (size_t)HOLDOUT_PHASES * CLASSES; i++) {
        const double(*sums)[SUMS] = experiment->all.sums[i / CLASSES][i % CLASSES];
        double n = sums[ARM_WINDOW][SUM_CONNECTIONS] + sums[ARM_HOLDOUT][SUM_CONNECTIONS];

        all += n;
        held_out += sums[ARM_HOLDOUT][SUM_CONNECTIONS];
        due += n * phase_percent(experiment, (enum holdout_phase)(i / CLASSES)) / 100;
    }
    share = held_out / all;
    variance = share * (1 - share) / all;
    /* Of one arm alone: anything is possible. */
    width = variance > 0 ? half_width(variance, sharp_share, share_alpha) : 1;
    found = (struct held_share){ .share = share,
                                 .low = greater(share - width, 0),
                                 .high = lesser(share + width, 1),
                                 .due = due / all };
    found.is_fair = found.low <= found.due && found.due <= found.high;
    return found;
}

/*
 * How much a group speaks for harm is how much less there is without it: that depends on its
 * outcomes and on its number of connections, so one that has many has to differ little to be left
 * out. In each figure: one that is better in time would hide in their sum what it retransmits.
 */
int verdict_compute_fair(struct verdict *verdict, const struct outcomes groups[SOURCE_GROUPS],
                         double alpha)
{
    enum { SIDES = 4 }; /* for harm and against it, in each of two figures */
    double without[SOURCE_GROUPS][SIDES];
    bool is_left_out[SOURCE_GROUPS] = { false };
    struct outcomes rest = { 0 };
    struct verdict one;

    for (size_t i = 0; i < SOURCE_GROUPS; i++)
        outcomes_add(&rest, &groups[i], 1);
    for (size_t i = 0; i < SOURCE_GROUPS; i++) {
        int r;

        outcomes_add(&rest, &groups[i], -1);
        r = verdict_compute(&one, &rest, ALL_CLASSES, alpha);
        outcomes_add(&rest, &groups[i], 1);
        if (r != 0)
            return r;
        without[i][0] = one.time.change;
        without[i][1] = one.retransmitted.change;
        without[i][2] = -without[i][0];
        without[i][3] = -without[i][1];
    }
    for (size_t side = 0; side < SIDES; side++) {
        size_t most = 0;

        for (size_t i = 1; i < SOURCE_GROUPS; i++)
            most = without[i][side] < without[most][side] ? i : most;
        is_left_out[most] = true;
    }
    for (size_t i = 0; i < SOURCE_GROUPS; i++) {
        if (is_left_out[i])
            outcomes_add(&rest, &groups[i], -1);
    }
    return verdict_compute(verdict, &rest, ALL_CLASSES, alpha);
}
