/* SPDX-License-Identifier: MIT */
/*
 * With unimodal costs a bandit needs to sample only the neighbours of its leader (Combes and
 * Proutiere, "Unimodal bandits: regret lower bounds and optimal algorithms", ICML 2014). The share
 * of the trials, drawn at random, decides how often; this file decides when to move.
 */
#include "proof/ladder.h"

#include "internal.h"
#include "proof/books.h"
#include "proof/numbers.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

static_assert(sizeof(struct ladder) <= 200, "the budget of a destination");

const uint16_t ladder_cwnds[LADDER_RUNGS] = { 10,  14,  20,  28,  40,  57, 81,
                                              115, 163, 231, 327, 462, 653 };

/* A result counts 1 / e after this many connections, as the path may have changed. */
static const double memory = 1000;

/* Connections on a rung before trials decide instead of the policy. */
enum { LEAST = 8 };

/*
 * Standard errors by which a neighbour must be better. Staying where a neighbour is better costs
 * more than moving to a worse one and back. docs/proof.md has figures of other values.
 */
static const double doubt = 0.5;

/* If own connections show a gain of this many standard errors, a site cannot contradict it. */
static const double own_doubt = 1;

/* Standard deviations (at least a factor of e) at which costs are capped. */
static const double outlier = 2;

/* A class has the mean rung of about this many steps; from half as many on new ladders use it. */
enum { CLASS_STEPS = 100 };

enum { SETTLE = 2 };

/* The nearest by ratio. */
static int rung_of(uint32_t cwnd)
{
    int rung = 0;

    while (rung + 1 < LADDER_RUNGS &&
           (uint64_t)cwnd * cwnd >= (uint64_t)ladder_cwnds[rung] * ladder_cwnds[rung + 1])
        rung++;
    return rung;
}

static bool is_known(const struct ladder *ladder, int rung)
{
    return rung >= 0 && rung < LADDER_RUNGS && ladder->rungs[rung].n >= LEAST;
}

static double mean_of(const struct ladder_rung *rung)
{
    return (double)rung->cost / (double)rung->n;
}

/* Of costs around their rung's mean, plus one connection that differs by a factor of e. */
static double variance_of(const struct ladder *ladder)
{
    double n = 0, squares = (double)ladder->squares;

    for (int i = 0; i < LADDER_RUNGS; i++) {
        const struct ladder_rung *rung = &ladder->rungs[i];

        if (rung->n > 0)
            squares -= (double)rung->cost * mean_of(rung);
        n += (double)rung->n;
    }
    return (greater(squares, 0) + 1) / greater(n, 1);
}

/* Standard error of the difference of two means. */
static double error_of(const struct ladder *ladder, const struct ladder_rung *one,
                       const struct ladder_rung *other)
{
    return square_root(variance_of(ladder) * (1 / (double)one->n + 1 / (double)other->n));
}

void ladder_scale(struct ladder *ladder, double factor)
{
    for (int i = 0; i < LADDER_RUNGS; i++) {
        ladder->rungs[i].n *= (float)factor;
        ladder->rungs[i].cost *= (float)factor;
        ladder->rungs[i].again *= (float)factor;
    }
    ladder->squares *= (float)factor;
}

void ladder_enter(struct ladder *ladder, uint32_t cwnd, const struct riptide_sample *sample,
                  double again_price)
{
    struct ladder_rung *rung = &ladder->rungs[rung_of(cwnd)];
    double again = lesser((double)sample->retrans_segs / sample->data_segs_out, 1);
    double cost = LN_2 * book_doublings(sample) + again_price * again;

    if (ladder->n_settle > 0)
        return;
    if (rung->n >= LEAST && cost > mean_of(rung) + 1)
        cost = lesser(cost, mean_of(rung) + greater(outlier * square_root(variance_of(ladder)), 1));
    ladder_scale(ladder, 1 - 1 / memory);
    ladder->n_entered++;
    rung->n++;
    rung->cost += (float)cost;
    rung->again += (float)again;
    ladder->squares += (float)(cost * cost);
}

/*
 * If the policy's window has moved, the ladder's window moves along, until trials know both rungs.
 * After a cut by two rungs or more, most of a flight was lost: then it moves there at once, and
 * earlier results count half.
 */
static int follow(struct ladder *ladder, struct ladder *all, int at, int policy)
{
    int moved = policy - (ladder->policy_at - 1), step = moved > 0 ? 1 : -1;

    if (moved < 0 && policy <= at - 2) {
        ladder_scale(ladder, 0.5);
        ladder_scale(all, 0.5);
        ladder->n_halved++;
        return policy;
    }
    for (; moved != 0 && !ladder->is_led; moved -= step) {
        if (is_known(all, at) && is_known(all, at + step))
            break;
        at += step;
    }
    return at;
}

/* How much less the other rung costs, and the inverse of the variance; 0: unknown. */
struct gain {
    double less, weight;
};

/* Uses the variance of `own`, or a site could set its own weight by its variance. */
static struct gain gain_of(const struct ladder *own, const struct ladder *ladder, int at, int to)
{
    const struct ladder_rung *has = &ladder->rungs[at], *rung = &ladder->rungs[to];
    double error;

    if (!is_known(ladder, at) || !is_known(ladder, to))
        return (struct gain){ 0 };
    error = error_of(own, rung, has);
    return (struct gain){ mean_of(has) - mean_of(rung), 1 / (error * error) };
}

/* In standard errors. */
static double doubts_of(struct gain gain)
{
    return gain.weight > 0 ? gain.less * square_root(gain.weight) : 0;
}

/*
 * Pools differences, not means: hosts may differ in the costs of all of their connections.
 *
 * A site's results can only move a window down, if the trials of `own` do not contradict; a move up
 * needs the trials of `own`, and where they are in doubt, that the site does not contradict.
 */
static double better_by(const struct ladder *own, const struct ladder *site, int at, int to)
{
    struct gain gain = gain_of(own, own, at, to), others = { 0 };
    double by_own = doubts_of(gain), by_all;

    if (site)
        others = gain_of(own, site, at, to);
    if (others.weight == 0 || by_own > own_doubt)
        return by_own;
    by_all = doubts_of((struct gain){ (gain.less * gain.weight + others.less * others.weight) /
                                          (gain.weight + others.weight),
                                      gain.weight + others.weight });
    if (to > at)
        return by_all > 0 ? by_own : 0;
    return by_own < -own_doubt ? 0 : greater(by_own, by_all);
}

static int better_of(const struct ladder *own, const struct ladder *site, int at)
{
    double most = doubt;
    int best = at;

    for (int i = at > 0 ? at - 1 : 1; i <= at + 1 && i < LADDER_RUNGS && own->n_settle == 0;
         i += 2) {
        double better = better_by(own, site, at, i);

        if (better > most) {
            most = better;
            best = i;
        }
    }
    return best;
}

/*
 * Without own results, begins where most connections of the site are, but at most a rung above the
 * policy's window, as a trial would. Only once: a position that moves every round gathers no
 * results.
 */
static int begin_at_site(struct ladder *ladder, const struct ladder *own, const struct ladder *site,
                         int at, int policy)
{
    float most = 0;
    int best = at;

    for (int i = 0; i < LADDER_RUNGS; i++) {
        if (is_known(own, i))
            return at;
        if (is_known(site, i) && site->rungs[i].n > most) {
            most = site->rungs[i].n;
            best = i;
        }
    }
    if (ladder->is_led || most == 0)
        return at;
    ladder->is_led = true;
    return best < policy + 1 ? best : policy + 1;
}

static void teach(struct ladder_class *class, const struct ladder *ladder, int at)
{
    if (!is_known(ladder, at) || !(is_known(ladder, at - 1) || is_known(ladder, at + 1)))
        return;
    class->n = (float)lesser((double)class->n + 1, CLASS_STEPS);
    class->rung += ((float)at - class->rung) / class->n;
}

static int begin(struct ladder *ladder, const struct ladder_class *class, int policy)
{
    ladder->is_led = class && class->n >= CLASS_STEPS / 2;
    return ladder->is_led ? (int)(class->rung + 0.5F) : policy;
}

bool ladder_step(struct ladder *ladder, const struct ladder *others, const struct ladder *site,
                 struct ladder_class *class, uint32_t policy_cwnd, uint32_t least_cwnd,
                 uint32_t most_cwnd)
{
    struct ladder own = *ladder;
    int policy = rung_of(policy_cwnd), most = rung_of(most_cwnd), had = ladder->at - 1;
    int had_policy = ladder->policy_at - 1, least = rung_of(least_cwnd), at;

    if (others)
        ladder_add(&own, others);
    at = had < 0 ? begin(ladder, class, policy) : follow(ladder, &own, had, policy);
    if (ladder->n_settle > 0)
        own.n_settle = --ladder->n_settle;
    if (site)
        at = begin_at_site(ladder, &own, site, at, policy);
    at = better_of(&own, site, at);
    most = most < policy + LADDER_ABOVE ? most : policy + LADDER_ABOVE;
    least = least > policy - LADDER_BELOW ? least : policy - LADDER_BELOW;
    at = at > most ? most : at < least ? least : at;
    if (class)
        teach(class, &own, at);
    if (had >= 0 && at != had)
        ladder->n_settle = SETTLE;
    ladder->at = (uint8_t)(at + 1);
    ladder->policy_at = (uint8_t)(policy + 1);
    return had >= 0 ? at - policy != had - had_policy : at != policy;
}

uint32_t ladder_cwnd(const struct ladder *ladder, uint32_t policy_cwnd)
{
    if (ladder->at == 0 || ladder->at - 1 == rung_of(policy_cwnd))
        return policy_cwnd;
    return ladder_cwnds[ladder->at - 1];
}

struct ladder_row ladder_row_of(const struct ladder *ladder, unsigned int i, double again_price)
{
    const struct ladder_rung *rung = &ladder->rungs[i], *has;
    struct ladder_row row = { .n = (double)rung->n };

    if (rung->n == 0)
        return row;
    row.again = (double)rung->again / row.n;
    has = ladder->at > 0 ? &ladder->rungs[ladder->at - 1] : rung;
    if (has->n == 0 || has == rung)
        return row;
    row.time = exponential(mean_of(rung) - mean_of(has) -
                           again_price * (row.again - (double)has->again / (double)has->n)) -
               1;
    row.error = (1 + row.time) * error_of(ladder, rung, has);
    return row;
}

/* As if the connections of a rung had all retransmitted its mean. */
void ladder_reprice(struct ladder *ladder, double more)
{
    for (int i = 0; i < LADDER_RUNGS; i++) {
        struct ladder_rung *rung = &ladder->rungs[i];
        double add = more * (double)rung->again;

        if (rung->n == 0)
            continue;
        ladder->squares += (float)(add * (2 * (double)rung->cost + add) / (double)rung->n);
        rung->cost += (float)add;
    }
}

void ladder_limit(struct ladder *ladder, double weight)
{
    double most = weight;

    for (int i = 0; i < LADDER_RUNGS; i++)
        most = greater(most, (double)ladder->rungs[i].n);
    ladder_scale(ladder, weight / most);
}

void ladder_add(struct ladder *ladder, const struct ladder *other)
{
    for (int i = 0; i < LADDER_RUNGS; i++) {
        ladder->rungs[i].n += other->rungs[i].n;
        ladder->rungs[i].cost += other->rungs[i].cost;
        ladder->rungs[i].again += other->rungs[i].again;
    }
    ladder->squares += other->squares;
}

/* Sums are integers in thousandths. */
enum { ONE = 1000 };

static int64_t to_integer(float sum)
{
    return (int64_t)((double)sum * ONE + (sum < 0 ? -0.5 : 0.5));
}

static float to_sum(int64_t integer)
{
    return (float)((double)integer / ONE);
}

size_t ladder_save(const struct ladder *ladder, double again_price, char text[LADDER_BYTES])
{
    struct ladder free_of_charge = *ladder;
    size_t n;

    ladder_reprice(&free_of_charge, -again_price);
    n = (size_t)snprintf(text, LADDER_BYTES, "%u,%u,%" PRId64, ladder->at, ladder->policy_at,
                         to_integer((float)greater((double)free_of_charge.squares, 0)));
    for (int i = 0; i < LADDER_RUNGS; i++) {
        const struct ladder_rung *rung = &free_of_charge.rungs[i];

        if (to_integer(rung->n) > 0)
            n += (size_t)snprintf(
                text + n, LADDER_BYTES - n, ";%u:%" PRId64 ",%" PRId64 ",%" PRId64, ladder_cwnds[i],
                to_integer(rung->n), to_integer(rung->cost), to_integer(rung->again));
    }
    return n;
}

bool ladder_load(struct ladder *ladder, double again_price, const char *text)
{
    static const int64_t most = (int64_t)memory * ONE * 2, most_cost = 32;
    int64_t squares, n, cost, again;
    unsigned int at, policy_at, cwnd;
    double least = 0;
    int n_read = 0;

    *ladder = (struct ladder){ 0 };
    if (sscanf(text, "%2u,%2u,%" SCNd64 "%n", &at, &policy_at, &squares, &n_read) != 3 ||
        at > LADDER_RUNGS || policy_at > LADDER_RUNGS || (at == 0) != (policy_at == 0) ||
        squares < 0 || squares > most * most_cost * most_cost)
        return false;
    for (text += n_read; *text; text += n_read) {
        int i;

        if (sscanf(text, ";%5u:%" SCNd64 ",%" SCNd64 ",%" SCNd64 "%n", &cwnd, &n, &cost, &again,
                   &n_read) != 4)
            return false;
        i = rung_of(cwnd);
        if (ladder_cwnds[i] != cwnd || n < 1 || n > most || cost > (n + 1) * most_cost ||
            cost < -(n + 1) * most_cost || again < 0 || again > n + 1 || /* each is rounded */
            ladder->rungs[i].n > 0)
            return false;
        least += (double)cost * (double)cost / (double)n;
        ladder->rungs[i] = (struct ladder_rung){ to_sum(n), to_sum(cost), to_sum(again) };
    }
    ladder->at = (uint8_t)at;
    ladder->policy_at = (uint8_t)policy_at;
    ladder->squares = to_sum(squares);
    ladder_reprice(ladder, again_price);
    /* Sums of squares are at least those of equal costs, except for rounding. */
    return least <= 1.01 * (double)squares + LADDER_RUNGS * ONE;
}
