/* SPDX-License-Identifier: MIT */
/* Difference of two arms, stratified over classes; see verdict.h. */
#include "verdict/verdict.h"

#include "internal.h"
#include "verdict/numbers.h"

#include <string.h>
#include <sys/socket.h>

/*
 * The half-width at which an interval of its kind is narrowest: it is 3.0 standard errors then, 3.2
 * when it is twice as wide, and 3.4 at a fifth.
 */
static const double sharp_time = 0.1, sharp_again = 0.01, sharp_share = 0.01;

/* For any configured confidence: without a fault one host in 1,000 has a void verdict by chance. */
static const double share_alpha = 0.001;

/*
 * Where no outcome has varied yet, for example without retransmissions, one may later: each arm's
 * variance includes one more connection that differs from the mean by a factor of e in time, and by
 * a tenth in retransmissions.
 */
static const double unseen_time = 1, unseen_again = 0.1;

/* One outcome of both arms: weighted sums over classes. */
struct pool {
    double weight;
    double arm_mean, control_mean;
    double arm_variance, control_variance;
};

struct moments {
    double mean, variance;
};

static struct moments moments_of(uint64_t n, uint64_t sum, uint64_t squares, double unit)
{
    double mean = (double)sum / (double)n;
    double spread = (double)squares / (double)n - mean * mean;

    return (struct moments){ mean / unit,
                             greater(spread, 0) * ((double)n / (double)(n - 1)) / unit / unit };
}

static void pool_add(struct pool *pool, double weight, struct moments arm, struct moments control)
{
    pool->weight += weight;
    pool->arm_mean += weight * arm.mean;
    pool->control_mean += weight * control.mean;
    pool->arm_variance += weight * arm.variance;
    pool->control_variance += weight * control.variance;
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
 * Arm minus control. If both arms had the same s^2, the variance of each class' difference would be
 * s^2 / weight. The holdout has few connections, which determine it, while the other arm estimates
 * s^2 better: so the larger one is used.
 */
static struct riptide_interval compare(const struct pool *pool, const struct verdict *verdict,
                                       double unseen, double sharp, double alpha)
{
    double arm = pool->arm_variance / pool->weight + unseen * unseen / (double)verdict->n;
    double control =
        pool->control_variance / pool->weight + unseen * unseen / (double)verdict->n_control;
    double width = half_width(greater(arm, control) / pool->weight, sharp, alpha);
    double difference = (pool->arm_mean - pool->control_mean) / pool->weight;

    return (struct riptide_interval){ difference, difference - width, difference + width };
}

/* Round trips, from the mean of the arm with more connections. */
static double rounds_of(const struct pool *pool, const struct verdict *verdict, double difference)
{
    if (verdict->n < verdict->n_control)
        return exponential(pool->control_mean / pool->weight) * (1 - exponential(difference));
    return exponential(pool->arm_mean / pool->weight) * (exponential(-difference) - 1);
}

/* Ignores a class in which either arm has fewer than two. */
static void add_class(struct verdict *verdict, struct pool *time, struct pool *again,
                      const struct book_cell *a, const struct book_cell *c)
{
    double weight;

    if (a->n < 2 || c->n < 2)
        return;
    weight = (double)a->n * (double)c->n / (double)(a->n + c->n);
    pool_add(time, weight, moments_of(a->n, a->time_sum, a->time_squares, BOOK_TIME_ONE / LN_2),
             moments_of(c->n, c->time_sum, c->time_squares, BOOK_TIME_ONE / LN_2));
    pool_add(again, weight, moments_of(a->n, a->again_sum, a->again_squares, BOOK_AGAIN_ONE),
             moments_of(c->n, c->again_sum, c->again_squares, BOOK_AGAIN_ONE));
    verdict->n += a->n;
    verdict->n_control += c->n;
}

/* `held` of `all` connections are those of control. */
static int conclude(struct verdict *verdict, struct verdict result, const struct pool *time,
                    const struct pool *again, double held, double confidence)
{
    double all = (double)(result.n_of[HOLDOUT_FIRST] + result.n_of[HOLDOUT_SETTLED]);
    double alpha = 1 - confidence, share, width;
    struct riptide_interval log_time;

    if (!(confidence > 0 && confidence < 1))
        return RIPTIDE_E_INVALID;
    if (result.n < VERDICT_MIN_CONNECTIONS || result.n_control < VERDICT_MIN_CONNECTIONS)
        return RIPTIDE_E_UNKNOWN;
    log_time = compare(time, &result, unseen_time, sharp_time, alpha);
    result.time =
        (struct riptide_interval){ exponential(log_time.estimate) - 1,
                                   exponential(log_time.low) - 1, exponential(log_time.high) - 1 };
    result.rounds_saved = (struct riptide_interval){ rounds_of(time, &result, log_time.estimate),
                                                     rounds_of(time, &result, log_time.high),
                                                     rounds_of(time, &result, log_time.low) };
    result.again = compare(again, &result, unseen_again, sharp_again, alpha);
    /* Shares differ by at most 1. */
    result.again.low = greater(result.again.low, -1);
    result.again.high = lesser(result.again.high, 1);
    result.again_control = again->control_mean / again->weight;
    result.rounds_control = exponential(time->control_mean / time->weight);
    result.shown = exponential(log_time.high - log_time.estimate) - 1;
    share = held / all;
    width = half_width(share * (1 - share) / all, sharp_share, share_alpha);
    result.share =
        (struct riptide_interval){ share, greater(share - width, 0), lesser(share + width, 1) };
    *verdict = result;
    return 0;
}

int verdict_compute(struct verdict *verdict, const struct books *books,
                    struct verdict_classes classes, double confidence)
{
    struct verdict result = { 0 };
    struct pool time = { 0 }, again = { 0 };
    double held = 0;

    for (unsigned int class = 0; class < BOOK_CLASSES; class ++) {
        const struct book_cell *cells = books->cells[class];

        if (!verdict_has_class(classes, class))
            continue;
        result.n_of[book_phase(class)] += cells[ARM_WINDOW].n + cells[ARM_HOLDOUT].n;
        held += (double)cells[ARM_HOLDOUT].n;
        add_class(&result, &time, &again, &cells[ARM_WINDOW], &cells[ARM_HOLDOUT]);
    }
    return conclude(verdict, result, &time, &again, held, confidence);
}

unsigned int verdict_group(const struct riptide_prefix *peer, uint64_t secret)
{
    size_t n_bytes = peer->family == AF_INET ? 24 / 8 : 64 / 8;
    uint64_t source = 0;

    memcpy(&source, peer->addr, n_bytes);
    return arm_hash(source, secret) % VERDICT_GROUPS;
}

static void add_books(struct books *sums, const struct books *books, uint64_t sign)
{
    for (size_t i = 0; i < (size_t)BOOK_CLASSES * ARMS; i++) {
        struct book_cell *sum = &sums->cells[i / ARMS][i % ARMS];
        const struct book_cell *cell = &books->cells[i / ARMS][i % ARMS];

        sum->n += sign * cell->n;
        sum->n_again += sign * cell->n_again;
        sum->time_sum += sign * cell->time_sum;
        sum->time_squares += sign * cell->time_squares;
        sum->again_sum += sign * cell->again_sum;
        sum->again_squares += sign * cell->again_squares;
    }
}

/*
 * How much a group speaks for harm is how much less there is without it: that depends on its
 * outcomes and on its number of connections, so one that has many has to differ little to be left
 * out.
 */
int verdict_compute_fair(struct verdict *verdict, const struct books groups[VERDICT_GROUPS],
                         double confidence)
{
    const struct verdict_classes all_classes = { 0 };
    struct books rest = { 0 };
    double most = 0, least = 0;
    size_t most_at = VERDICT_GROUPS, least_at = VERDICT_GROUPS;

    for (size_t i = 0; i < VERDICT_GROUPS; i++)
        add_books(&rest, &groups[i], 1);
    for (size_t i = 0; i < VERDICT_GROUPS; i++) {
        struct verdict without;
        double harm;
        int r;

        add_books(&rest, &groups[i], (uint64_t)-1);
        r = verdict_compute(&without, &rest, all_classes, confidence);
        add_books(&rest, &groups[i], 1);
        if (r != 0)
            return r;
        harm = verdict_harm(&without);
        if (most_at == VERDICT_GROUPS || harm < most) {
            most = harm;
            most_at = i;
        }
        if (least_at == VERDICT_GROUPS || harm >= least) {
            least = harm;
            least_at = i;
        }
    }
    add_books(&rest, &groups[most_at], (uint64_t)-1);
    add_books(&rest, &groups[least_at], (uint64_t)-1);
    return verdict_compute(verdict, &rest, all_classes, confidence);
}
