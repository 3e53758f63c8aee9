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

/* One figure of both sides: weighted sums over classes. */
struct pool {
    double weight;
    double means[ARMS], variances[ARMS];
};

/* Both figures, and the connections of the classes that are in them. */
struct pools {
    struct pool time;
    struct pool retransmitted;
    double n[ARMS];
};

/* The sums of a class, of both sides; the subject is in the place of ARM_WINDOW. */
struct pair {
    const double *sums[ARMS];
};

/* Adds the figure of a class whose sums begin at `sum`, so many times its unit. */
static void pool_add(struct pool *pool, const struct pair *pair, enum sum sum, double unit)
{
    double n_window = pair->sums[ARM_WINDOW][SUM_CONNECTIONS];
    double n_held_out = pair->sums[ARM_HOLDOUT][SUM_CONNECTIONS];
    double weight = n_window * n_held_out / (n_window + n_held_out);

    pool->weight += weight;
    for (enum arm arm = 0; arm < ARMS; arm++) {
        const double *sums = pair->sums[arm];
        double n = sums[SUM_CONNECTIONS], mean = sums[sum] / n;
        double spread = greater(sums[sum + 1] / n - mean * mean, 0);

        pool->means[arm] += weight * mean * unit;
        pool->variances[arm] += weight * spread * n / (n - 1) * unit * unit;
    }
}

/* A class with fewer than two connections of one side says nothing about its variance. */
static void pools_add(struct pools *pools, const double window[SUMS], const double held_out[SUMS])
{
    const struct pair pair = { .sums = { [ARM_WINDOW] = window, [ARM_HOLDOUT] = held_out } };

    if (window[SUM_CONNECTIONS] < 2 || held_out[SUM_CONNECTIONS] < 2)
        return;
    pool_add(&pools->time, &pair, SUM_TIME, LN_2);
    pool_add(&pools->retransmitted, &pair, SUM_RETRANSMITTED, 1);
    for (enum arm arm = 0; arm < ARMS; arm++)
        pools->n[arm] += pair.sums[arm][SUM_CONNECTIONS];
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

/* Outcomes: as verdict_compute. */
static int pools_compare(struct verdict *verdict, const struct pools *pools, double alpha)
{
    const double *n = pools->n;
    struct riptide_change logs, shares;

    if (n[ARM_WINDOW] < VERDICT_MIN_CONNECTIONS || n[ARM_HOLDOUT] < VERDICT_MIN_CONNECTIONS)
        return RIPTIDE_E_UNKNOWN;
    logs = compare(&pools->time, n, unseen_time, sharp_time, alpha);
    shares = compare(&pools->retransmitted, n, unseen_retransmitted, sharp_retransmitted, alpha);
    /* Shares differ by at most 1. */
    shares.low = greater(shares.low, -1);
    shares.high = lesser(shares.high, 1);
    *verdict = (struct verdict){
        .n = { [ARM_WINDOW] = n[ARM_WINDOW], [ARM_HOLDOUT] = n[ARM_HOLDOUT] },
        .time = { .held_out = exponential(logs.held_out),
                  .with_window = exponential(logs.with_window),
                  .change = exponential(logs.change) - 1,
                  .low = exponential(logs.low) - 1,
                  .high = exponential(logs.high) - 1 },
        .retransmitted = shares,
    };
    return 0;
}

int verdict_compute(struct verdict *verdict, const struct outcomes *outcomes, size_t class,
                    double alpha)
{
    const size_t first = class == ALL_CLASSES ? 0 : class;
    const size_t end = class == ALL_CLASSES ? CLASSES : class + 1;
    struct pools pools = { .n = { 0 } };

    for (size_t phase = 0; phase < HOLDOUT_PHASES; phase++) {
        for (size_t i = first; i < end; i++) {
            const double(*sums)[SUMS] = outcomes->sums[phase][i];

            pools_add(&pools, sums[ARM_WINDOW], sums[ARM_HOLDOUT]);
        }
    }
    return pools_compare(verdict, &pools, alpha);
}

static int comparison_compute(struct verdict *verdict, const struct comparison *comparison,
                              double alpha)
{
    struct pools pools = { .n = { 0 } };

    for (size_t class = 0; class < CLASSES; class ++)
        pools_add(&pools, comparison->subject[class], comparison->baseline[class]);
    return pools_compare(verdict, &pools, alpha);
}

struct held_share held_share_of(const struct experiment *experiment)
{
    double all = 0, held_out = 0, due = 0, share, variance, width;
    struct held_share found;

    for (enum holdout_phase phase = 0; phase < HOLDOUT_PHASES; phase++) {
        const double percent = phase_percent(experiment, phase);

        for (size_t class = 0; class < CLASSES; class ++) {
            const double(*sums)[SUMS] = experiment->all.sums[phase][class];
            double n = sums[ARM_WINDOW][SUM_CONNECTIONS] + sums[ARM_HOLDOUT][SUM_CONNECTIONS];

            all += n;
            held_out += sums[ARM_HOLDOUT][SUM_CONNECTIONS];
            due += n * percent / 100;
        }
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
 * How much a group speaks for harm is how much less there is without it. That depends on its
 * outcomes and on its number of connections, so one that has many has to differ little to be left
 * out. Groups are left out for each figure: one that is better in time would hide in a sum of both
 * what it retransmits.
 */
int verdict_compute_fair(struct verdict *verdict, const struct comparison groups[SOURCE_GROUPS],
                         double alpha)
{
    enum { SIDES = 4 }; /* for harm and against it, in each of two figures */
    double without[SOURCE_GROUPS][SIDES];
    bool is_left_out[SOURCE_GROUPS] = { false };
    struct comparison rest = { .subject = { { 0 } } };
    struct verdict one;

    for (size_t i = 0; i < SOURCE_GROUPS; i++)
        comparison_add(&rest, &groups[i], 1);
    for (size_t i = 0; i < SOURCE_GROUPS; i++) {
        int r;

        comparison_add(&rest, &groups[i], -1);
        r = comparison_compute(&one, &rest, alpha);
        comparison_add(&rest, &groups[i], 1);
        if (r != 0)
            return r;
        without[i][0] = one.time.change;
        without[i][1] = one.retransmitted.change;
        without[i][2] = -one.time.change;
        without[i][3] = -one.retransmitted.change;
    }
    for (size_t side = 0; side < SIDES; side++) {
        size_t most = 0;

        for (size_t i = 1; i < SOURCE_GROUPS; i++) {
            if (without[i][side] < without[most][side])
                most = i;
        }
        is_left_out[most] = true;
    }
    for (size_t i = 0; i < SOURCE_GROUPS; i++) {
        if (is_left_out[i])
            comparison_add(&rest, &groups[i], -1);
    }
    return comparison_compute(verdict, &rest, alpha);
}
