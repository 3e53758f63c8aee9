/* SPDX-License-Identifier: MIT */
/*
 * The difference of two sides, stratified over classes; see verdict.h. Intervals are those of
 * Waudby-Smith, Arbour, Sinha, Kennedy, Ramdas: "Time-uniform central limit theory and asymptotic
 * confidence sequences", Annals of Statistics 52, 2024, Theorem 2.2. docs/verdict.md has the
 * formulas.
 */
#include "verdict/verdict.h"

#include "internal.h"
#include "verdict/numbers.h"

/* The half-width at which an interval has fewest standard errors: 3.0 of them. */
static const double sharp_time = 0.1;           /* of a natural logarithm: 10 % of time */
static const double sharp_retransmitted = 0.01; /* of a share: one point of segments */
static const double sharp_share = 0.01;         /* likewise of connections held out */

/* How often the interval of the share held out misses it by chance: on one host in 1,000. */
static const double share_alpha = 0.001;

/*
 * Where no outcome has varied yet, for example without retransmissions, one may later. So the
 * variance of each side includes one more connection that differs from the mean by this much.
 */
static const double unseen_time = 1;            /* of a natural logarithm: a factor of e */
static const double unseen_retransmitted = 0.1; /* of a share */

/* One figure of both sides, summed up over classes with their weights. */
struct pool {
    double weight;
    double means[SIDES];
    double variances[SIDES];
};

/* Both figures, and the connections of the classes that are in them. */
struct pools {
    struct pool time; /* natural logarithms */
    struct pool retransmitted;
    double n[SIDES];
};

/* The sums of a class. */
struct pair {
    const double *sums[SIDES];
};

/* Adds a figure of a class: that whose sums begin at `sum`, multiplied by `unit`. */
static void pool_add(struct pool *pool, const struct pair *pair, enum sum sum, double unit)
{
    const double n_subject = pair->sums[SUBJECT][SUM_CONNECTIONS];
    const double n_baseline = pair->sums[BASELINE][SUM_CONNECTIONS];
    const double weight = n_subject * n_baseline / (n_subject + n_baseline);

    pool->weight += weight;
    for (enum side side = 0; side < SIDES; side++) {
        const double *sums = pair->sums[side];
        const double n = sums[SUM_CONNECTIONS], mean = sums[sum] / n;
        const double spread = greater(sums[sum + 1] / n - mean * mean, 0);

        pool->means[side] += weight * mean * unit;
        pool->variances[side] += weight * spread * n / (n - 1) * unit * unit;
    }
}

/* A class with fewer than two connections of one side says nothing about its variance. */
static void pools_add(struct pools *pools, const double subject[SUMS], const double baseline[SUMS])
{
    const struct pair pair = { .sums = { [SUBJECT] = subject, [BASELINE] = baseline } };

    if (subject[SUM_CONNECTIONS] < 2 || baseline[SUM_CONNECTIONS] < 2)
        return;
    pool_add(&pools->time, &pair, SUM_TIME, LN_2);
    pool_add(&pools->retransmitted, &pair, SUM_RETRANSMITTED, 1);
    for (enum side side = 0; side < SIDES; side++)
        pools->n[side] += pair.sums[side][SUM_CONNECTIONS];
}

/*
 * The half-width of an interval around an estimate of that variance. `sharp` is where it is
 * narrowest, in units of the estimate.
 *
 * It is Theorem 2.2, where sigma^2 / t is the variance and rho = sharp / sigma. Section 3 has it
 * for differences of two arms. For Brownian motion it is the two-sided normal mixture of Howard,
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
 * If both sides had the same variance s^2 of one connection, the variance of each class' difference
 * would be s^2 / weight. The holdout has few connections, which determine it, while the other arm
 * estimates s^2 better: so the larger one is used.
 */
static struct riptide_change compare(const struct pool *pool, const double n[SIDES], double unseen,
                                     double sharp, double alpha)
{
    double variances[SIDES], means[SIDES], change, width;

    for (enum side side = 0; side < SIDES; side++) {
        means[side] = pool->means[side] / pool->weight;
        variances[side] = pool->variances[side] / pool->weight + unseen * unseen / n[side];
    }
    width =
        half_width(greater(variances[SUBJECT], variances[BASELINE]) / pool->weight, sharp, alpha);
    change = means[SUBJECT] - means[BASELINE];
    return (struct riptide_change){
        .held_out = means[BASELINE],
        .with_window = means[SUBJECT],
        .change = change,
        .low = change - width,
        .high = change + width,
    };
}

/* Outcomes: as verdict_compute. */
static int pools_compare(struct verdict *verdict, const struct pools *pools, double alpha)
{
    const double *n = pools->n;
    struct riptide_change logs, shares;

    if (n[SUBJECT] < VERDICT_MIN_CONNECTIONS || n[BASELINE] < VERDICT_MIN_CONNECTIONS)
        return RIPTIDE_E_UNKNOWN;
    logs = compare(&pools->time, n, unseen_time, sharp_time, alpha);
    shares = compare(&pools->retransmitted, n, unseen_retransmitted, sharp_retransmitted, alpha);
    /* Shares differ by at most 1. */
    shares.low = greater(shares.low, -1);
    shares.high = lesser(shares.high, 1);
    *verdict = (struct verdict){
        .n = { [SUBJECT] = n[SUBJECT], [BASELINE] = n[BASELINE] },
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

/* Connections that count: all, those held out, and as many as were to be held out. */
struct held {
    double all;
    double held_out;
    double due;
};

static struct held count_held(const struct experiment *experiment)
{
    struct held held = { .all = 0 };

    for (enum holdout_phase phase = 0; phase < HOLDOUT_PHASES; phase++) {
        const double percent = phase_percent(experiment, phase);

        for (size_t class = 0; class < CLASSES; class ++) {
            const double(*sums)[SUMS] = experiment->all.sums[phase][class];
            double n = sums[ARM_WINDOW][SUM_CONNECTIONS] + sums[ARM_HOLDOUT][SUM_CONNECTIONS];

            held.all += n;
            held.held_out += sums[ARM_HOLDOUT][SUM_CONNECTIONS];
            held.due += n * percent / 100;
        }
    }
    return held;
}

struct held_share held_share_of(const struct experiment *experiment)
{
    const struct held held = count_held(experiment);
    const double share = held.held_out / held.all, due = held.due / held.all;
    const double variance = share * (1 - share) / held.all;
    /* Of one arm alone: anything is possible. */
    const double width = variance > 0 ? half_width(variance, sharp_share, share_alpha) : 1;
    const double low = greater(share - width, 0), high = lesser(share + width, 1);

    return (struct held_share){
        .share = share, .low = low, .high = high, .due = due, .is_fair = low <= due && due <= high
    };
}

/* What a group can speak for: harm or against it, in each of two figures. */
enum opinion { TIME_HARM, RETRANSMITTED_HARM, TIME_GAIN, RETRANSMITTED_GAIN, OPINIONS };

/* How much all others speak for each opinion, where each group is left out in turn. */
struct others {
    double of[SOURCE_GROUPS][OPINIONS];
};

/* `rest`: the sum of all groups, which is the same afterwards. Outcomes: as verdict_compute. */
static int others_compute(struct others *others, struct comparison *rest,
                          const struct comparison groups[SOURCE_GROUPS], double alpha)
{
    for (size_t i = 0; i < SOURCE_GROUPS; i++) {
        struct verdict without;
        int r;

        comparison_add(rest, &groups[i], -1);
        r = comparison_compute(&without, rest, alpha);
        comparison_add(rest, &groups[i], 1);
        if (r != 0)
            return r;
        others->of[i][TIME_HARM] = without.time.change;
        others->of[i][RETRANSMITTED_HARM] = without.retransmitted.change;
        others->of[i][TIME_GAIN] = -without.time.change;
        others->of[i][RETRANSMITTED_GAIN] = -without.retransmitted.change;
    }
    return 0;
}

/* The group without which least of the opinion is left. */
static size_t find_strongest(const struct others *others, enum opinion opinion)
{
    size_t strongest = 0;

    for (size_t i = 1; i < SOURCE_GROUPS; i++) {
        if (others->of[i][opinion] < others->of[strongest][opinion])
            strongest = i;
    }
    return strongest;
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
    bool is_left_out[SOURCE_GROUPS] = { false };
    struct comparison rest = { .subject = { { 0 } } };
    struct others others;
    int r;

    for (size_t i = 0; i < SOURCE_GROUPS; i++)
        comparison_add(&rest, &groups[i], 1);
    r = others_compute(&others, &rest, groups, alpha);
    if (r != 0)
        return r;
    for (enum opinion opinion = 0; opinion < OPINIONS; opinion++)
        is_left_out[find_strongest(&others, opinion)] = true;
    for (size_t i = 0; i < SOURCE_GROUPS; i++) {
        if (is_left_out[i])
            comparison_add(&rest, &groups[i], -1);
    }
    return comparison_compute(verdict, &rest, alpha);
}
