/* SPDX-License-Identifier: MIT */
/*
 * Policy "careful": the window whose first flights fit the path. It works like slow start, but from
 * connection to connection: a window that first flights filled without a loss grows for later
 * connections, as fast as other evidence of the path allows; losses lower it at once.
 *
 * Comments at each step explain it; docs/policies.md has the sources, docs/results/duel.md the
 * effect on real TCP. Pure.
 */
#include "estimator.h"
#include "evidence.h"
#include "internal.h"
#include <string.h>

/* Segments of several first flights, and how many of them were retransmitted. */
struct flights {
    uint16_t segs;
    uint16_t lost_segs;
};

struct careful {
    /* of this tick */
    float capacity; /* sum over connections, segments; 0: no evidence */
    uint32_t min_rtt_us;
    uint16_t burst; /* segments; 0: no evidence */
    struct flights flights;
    struct opening opening;
    bool is_near : 1;       /* one connection's smallest RTT was within ten times the kept one */
    uint8_t n_filled : 7;   /* first flights that filled the window and lost nothing */
    bool is_full : 1;       /* one connection has met the limit of the path */
    uint8_t n_doubtful : 7; /* connections with losses, possibly of their first flights */
    /* kept */
    struct {
        uint8_t n_fit;        /* ticks whose first flights fit, since a cut or in a row */
        uint8_t n_cuts : 3;   /* cuts in force; each doubles the wait */
        uint8_t n_settle : 2; /* ticks that are still ignored */
        bool is_bbr : 1;      /* of the newest open connection */
        bool is_cut : 1;      /* a cut lowered the window, or it grew from such a one */
        bool is_paced : 1;    /* paced: the path carries more in a round trip than it takes at once
                               */
    } known;
    uint16_t fitted; /* the window whose first flights fit, in 1 / FITTED_ONE segments; 0:
                        unknown */
    uint8_t sharers[2];
    uint32_t path_min_rtt_us; /* of the path that the evidence is about */
    struct flights past;      /* of earlier ticks with this window, fading */
    uint16_t bursts[2];
    uint16_t capacities[2];
    uint16_t cwnd_before : 12; /* before the last raise, segments */
    uint16_t n_raised : 2;     /* coming ticks in which connections end that began before it */
    uint16_t n_lossy : 2;      /* how many more of the earlier ticks were lossy than clean, at most
                                  3 */
    uint16_t half_since;
};
ASSERT_MEMORY_FITS(struct careful);

enum { FITTED_ONE = 16, MOST_COUNTED = 127, MOST_BEFORE = (1 << 12) - 1 };

/*
 * Until a connection has met the path's limit, a window that was filled without a loss doubles, as
 * in slow start; then it doubles up to the bound derived from other connections. Up to the share of
 * capacity that RFC 9959 allows (half) it grows by half, and from there by an eighth, to twice the
 * capacity: rates measured in slow start are half of the next round trip's.
 */
static const double growth_derived = 2, growth_share = 1.5, growth_slow = 1.125, slow_start = 2;

/*
 * First flights count against the window when more than a fiftieth of them was lost, with BENEFIT
 * segments added as delivered: that is a sixth of one flight of 24, and less of several flights. An
 * overflow drops the tail of every flight; random loss of a path stays below this.
 */
enum { LOSS_SHARE = 50, BENEFIT = 128 };

/* Of an unchanged window's flights, those before the last MEMORY segments count half. */
enum { MEMORY = 256 };

/*
 * After a cut the window stays until WAIT ticks had flights that fit, twice as many after each
 * further cut; then it grows by an eighth at a time. After as many ticks again the cut is no longer
 * in force. A window below its start grows by 1 % a second even without flights.
 */
enum { WAIT = 8, MOST_CUTS = 4 };
static const double healing_ns = 100e9;

/*
 * Ticks in which connections end that began before a change: two after a cut, as some waited for a
 * timeout; one after a raise; two after a raise by other bounds, which can be at any time between
 * ticks.
 */
enum { SETTLE = 2, RAISED = 1, RAISED_BETWEEN = 2 };

/*
 * Where flights can be paced, pacing is the first answer to a cut. If more than FEW connections
 * open together, unpaced flights arrive one after the other, while paced ones all end last: then
 * pacing begins only if the cut leaves less than half of the share of capacity, or less than the
 * share and SHALLOW segments. A paced window is at least START_CWND, if the path's capacity allows
 * it, and begins with half of the share. All four values were measured:
 * docs/decisions.md, "First flights are paced where a burst has lost, not always", has the figures
 * of others.
 */
enum { FEW = 2, SHALLOW = 16 };
/* A window whose first flights fit grows fast up to this part of its share (RFC 9959: half). */
static const double claimed_share = 0.5;
static const double paced_share = 0.5, pacing_gain = 1.25;

/*
 * A paced flight that fits the path has losses when others fill it, as a smaller one would. So not
 * the amount of losses counts against a window, but LOSSY_TICKS more ticks with losses than
 * without: with one tick in three lossy that happens about once in fifty. LOSSY_TO_PACE suffice to
 * pace a window, if the path's capacity is larger. A tick counts twice if it had at least LOST_OF
 * flights, and at least a quarter of them had losses, of half or more of their segments.
 */
enum { LOSSY_TICKS = 4, LOSSY_TO_PACE = 2, LOST_OF = 4 };

static uint16_t to_u16(double value)
{
    return value < UINT16_MAX ? (uint16_t)value : UINT16_MAX;
}

/* On overflow both are halved: only their ratio matters. Neither argument exceeds 65535. */
static void add_flight(struct flights *flights, uint32_t segs, uint32_t lost_segs)
{
    uint32_t all = flights->segs + segs, all_lost = flights->lost_segs + lost_segs;
    unsigned int half = all > UINT16_MAX;

    *flights = (struct flights){ (uint16_t)(all >> half), (uint16_t)(all_lost >> half) };
}

static enum riptide_left_out careful_add(const struct riptide_policy_input *input, void *memory,
                                         const struct riptide_sample *sample)
{
    enum riptide_left_out reason = evidence_check(sample);
    struct careful *careful = memory;
    struct first_flight first = first_flight_of(sample, input, careful->known.is_bbr);
    double capacity, burst;

    if (first.kind == FLIGHT_DOUBTFUL && careful->n_doubtful < MOST_COUNTED)
        careful->n_doubtful++;
    if (first.kind == FLIGHT_WHOLE)
        add_flight(&careful->flights, first.segs, first.lost_segs);
    if (first.kind == FLIGHT_WHOLE && first.lost_segs == 0 && careful->n_filled < MOST_COUNTED)
        careful->n_filled++;
    if (!sample->closed) {
        careful->known.is_bbr = strncmp(sample->congestion_control, "bbr", 3) == 0;
        /* Only open ones: closed ones closed at any time of the interval, not together. */
        opening_add(&careful->opening, sample, input->cwnd);
    }
    /* A first flight counts even if the connection has no other evidence. */
    if (reason != RIPTIDE_LEFT_OUT_NOT)
        return first.kind >= FLIGHT_SMALL ? RIPTIDE_LEFT_OUT_NOT : reason;

    if (evidence_has_met_limit(sample))
        careful->is_full = true;
    capacity = evidence_capacity(sample);
    burst = evidence_burst(sample, capacity);
    if (burst > careful->burst)
        careful->burst = to_u16(burst);
    if (careful->min_rtt_us == 0 || sample->min_rtt_us < careful->min_rtt_us)
        careful->min_rtt_us = sample->min_rtt_us;
    if (careful->path_min_rtt_us == 0 || sample->min_rtt_us / 10 <= careful->path_min_rtt_us)
        careful->is_near = true;
    if (sample->app_limited)
        return RIPTIDE_LEFT_OUT_NOT;
    /* Connections that sent within the last round trip share the path, so their rates add up. */
    if (!sample->closed && (uint64_t)sample->last_data_sent_ms * 1000 <= sample->rtt_us)
        careful->capacity += (float)capacity;
    else if (capacity > (double)careful->capacity)
        careful->capacity = (float)capacity;
    return RIPTIDE_LEFT_OUT_NOT;
}

/*
 * RFC 9959, Sec. 3.2 and 4.2.1: below half or above ten times, it is another path. Only the
 * smallest round trip time counts: a queue can be more than ten times a short one, and cuts respond
 * to that.
 */
static bool is_other_path(const struct careful *careful)
{
    enum { SHORTEST_US = 1000 }; /* below it, scheduling dominates round trip times */
    uint32_t now_us = careful->min_rtt_us, kept_us = careful->path_min_rtt_us;

    return now_us > 0 && kept_us > 0 &&
           ((kept_us > 2 * SHORTEST_US && now_us < kept_us / 2) || !careful->is_near);
}

/*
 * Keeps the smallest round trip time. A tick in which all connections opened into a queue does not
 * raise it at once, or the next tick would seem to be of another path; for a longer path it rises
 * by a quarter each half of EVIDENCE_S.
 */
static void keep_min_rtt(struct careful *careful, enum halves_step step)
{
    uint32_t now_us = careful->min_rtt_us, kept_us = careful->path_min_rtt_us;
    uint64_t highest_us = kept_us + (step == HALVES_STAY ? UINT64_C(0) : kept_us / 4);

    if (now_us > 0)
        careful->path_min_rtt_us =
            kept_us == 0 || now_us < highest_us ? now_us : (uint32_t)highest_us;
}

static double share_of(const struct careful *careful)
{
    return (double)HALVES_MAX(careful->capacities) / HALVES_MAX(careful->sharers);
}

static bool can_pace(const struct careful *careful, const struct riptide_policy_input *input)
{
    return input->can_pace && careful->path_min_rtt_us >= PACING_RTT_MIN_US;
}

static bool are_few(const struct careful *careful)
{
    return HALVES_MAX(careful->sharers) <= FEW;
}

static double least_paced(const struct careful *careful)
{
    return lesser(HALVES_MAX(careful->capacities), START_CWND);
}

/* Segments of this tick's flights that had losses. */
static uint32_t lossy_segs_of(const struct careful *careful, uint32_t cwnd)
{
    uint32_t segs = careful->flights.segs, fit_segs = careful->n_filled * cwnd;

    return fit_segs < segs ? segs - fit_segs : 0;
}

/* Discards results of flights with another window than the coming ones. */
static void start_over(struct careful *careful)
{
    careful->past = (struct flights){ 0 };
    careful->n_lossy = 0;
}

/*
 * The next window after one of `cwnd` was filled without a loss. Fast growth ends at the share of
 * connections that opened together, or filled their windows in one tick. Slow growth needs no
 * share: as many flights together have fitted. Without a known rate, as of very short connections,
 * fast growth does not end.
 */
static double grow(const struct careful *careful, const struct riptide_policy_input *input,
                   double cwnd)
{
    double capacity = HALVES_MAX(careful->capacities), next = cwnd * growth_slow;
    double share = share_of(careful), claimed = share * claimed_share;
    double burst = (double)HALVES_MAX(careful->bursts) / HALVES_MAX(careful->sharers);

    if (capacity > 0)
        next = lesser(next, capacity * slow_start);
    if (careful->known.n_cuts == 0) {
        if (capacity == 0)
            return cwnd * growth_derived;
        if (careful->known.is_paced)
            claimed = share;
        /* Where it can be paced, the first window that does not fit ends unpaced growth. */
        if (input->can_pace)
            burst = claimed;
        next = greater(next, lesser(cwnd * growth_derived, lesser(claimed, burst)));
        next = greater(next, lesser(cwnd * growth_share, claimed));
    }
    return greater(next, cwnd);
}

/*
 * Of connections that open together one may have all losses and end last: assume that as many sent
 * their flights as opened together before.
 */
static uint32_t sent_together(const struct careful *careful, uint32_t cwnd, uint32_t segs)
{
    uint32_t together = HALVES_MAX(careful->sharers) * cwnd;

    return segs > together ? segs : together;
}

/* Whether at least a quarter of several flights had losses, of half or more of their segments. */
static bool are_lost(const struct careful *careful, uint32_t cwnd)
{
    uint32_t segs = careful->flights.segs, lossy_segs = lossy_segs_of(careful, cwnd);

    return segs >= LOST_OF * cwnd && lossy_segs * LOST_OF >= segs &&
           careful->flights.lost_segs * 2 >= lossy_segs;
}

/*
 * How many more ticks with this window were lossy than clean; 0: this one is clean. A tick is lossy
 * if flights with losses, and those that opened together with them, sent more than the others.
 */
static unsigned int count_lossy(struct careful *careful, uint32_t cwnd)
{
    uint32_t segs = careful->flights.segs, fit_segs = careful->n_filled * cwnd;
    unsigned int n = careful->n_lossy + (are_lost(careful, cwnd) ? 2u : 1u);

    if (careful->flights.lost_segs * LOSS_SHARE <= segs ||
        lossy_segs_of(careful, cwnd) * HALVES_MAX(careful->sharers) < fit_segs) {
        if (careful->n_lossy > 0)
            careful->n_lossy--;
        return 0;
    }
    if (careful->known.n_cuts == 0)
        careful->known.n_fit = 0;
    careful->n_lossy = (n < LOSSY_TICKS ? n : LOSSY_TICKS - 1) & 3;
    return n;
}

/*
 * Adds this tick's flights to the earlier ones, and decides whether they lost too much. One lost
 * segment per flight is not too much, unless pacing can avoid it.
 */
static bool is_too_large(struct careful *careful, const struct riptide_policy_input *input,
                         uint32_t cwnd)
{
    struct flights *past = &careful->past;
    unsigned int n_lossy;

    if (careful->flights.segs == 0)
        return false;
    n_lossy = count_lossy(careful, cwnd);
    if (careful->known.is_paced)
        return n_lossy >= LOSSY_TICKS;
    if (past->segs > MEMORY)
        *past = (struct flights){ past->segs / 2, past->lost_segs / 2 };
    add_flight(past, careful->flights.segs, careful->flights.lost_segs);
    if (past->lost_segs > 0)
        past->segs = to_u16(sent_together(careful, cwnd, past->segs));
    if (n_lossy >= LOSSY_TO_PACE && can_pace(careful, input) && are_few(careful) &&
        cwnd < share_of(careful))
        return true;
    return careful->flights.lost_segs > 0 &&
           (uint32_t)past->lost_segs * LOSS_SHARE > (uint32_t)past->segs + BENEFIT;
}

static void note_cut(struct careful *careful, unsigned int n)
{
    n += careful->known.n_cuts;
    careful->known.n_cuts = (n < MOST_CUTS ? n : MOST_CUTS) & 7;
    careful->known.n_fit = 0;
    careful->known.is_cut = true;
    careful->known.n_settle = SETTLE;
    start_over(careful);
}

/*
 * The part of a window of `cwnd` that arrived in this tick, rounded up, less a thirty-second for
 * other traffic in the buffer. After a loss of a quarter the path has changed: less an eighth, and
 * it counts as two cuts. At least `least`.
 */
static double lower(struct careful *careful, uint32_t cwnd, double least)
{
    /*
     * Cut again, with no fitting flight since: these are all flights that opened together, and all
     * have losses.
     */
    bool is_sure =
        careful->known.n_cuts > 0 && careful->known.n_fit == 0 && careful->flights.segs >= 2 * cwnd;
    uint32_t segs =
        is_sure ? careful->flights.segs : sent_together(careful, cwnd, careful->flights.segs);
    uint32_t lost = careful->flights.lost_segs;
    uint32_t fits = segs > 0 ? (uint32_t)(((uint64_t)cwnd * (segs - lost) + segs - 1) / segs) : 0;
    double share = share_of(careful);

    note_cut(careful, lost > segs / 4 ? 2 : 1);
    fits -= fits / (lost > segs / 4 ? 8 : 32);
    if (careful->known.is_paced)
        return greater(lesser(fits, share), least_paced(careful));
    return greater(fits, least);
}

/* In the next `n_ticks` connections may end that began with `cwnd`. */
static void note_raise(struct careful *careful, uint32_t cwnd, unsigned int n_ticks)
{
    careful->cwnd_before = (cwnd < MOST_BEFORE ? cwnd : MOST_BEFORE) & MOST_BEFORE;
    careful->n_raised = n_ticks & 3;
}

/* After a tick in which most flights certainly filled the window and lost nothing. */
static double raise(struct careful *careful, const struct riptide_policy_input *input,
                    double fitted)
{
    uint32_t wait = (uint32_t)WAIT << careful->known.n_cuts >> 1;
    double next;

    if (careful->known.n_fit < UINT8_MAX)
        careful->known.n_fit++;
    if (careful->known.n_cuts > 0 && careful->known.n_fit >= 2 * wait)
        careful->known.n_cuts = 0;
    if (careful->known.n_cuts > 0 && careful->known.n_fit < wait)
        return fitted;
    next = grow(careful, input, input->cwnd);
    if (next <= fitted)
        return fitted;
    start_over(careful);
    careful->past = careful->flights;
    note_raise(careful, input->cwnd, RAISED);
    return next;
}

/* Whether pacing begins at a window of `fitted`, and the window with which it begins. */
static double pace(struct careful *careful, const struct riptide_policy_input *input, double fitted)
{
    double share = share_of(careful), least = greater(share * paced_share, lesser(share, SHALLOW));
    bool is_too_little = are_few(careful) || fitted < least;

    if (!can_pace(careful, input)) {
        /* Learn anew which window fits unpaced, from where a paced one begins or below. */
        if (careful->known.is_paced)
            fitted = lesser(fitted, least_paced(careful));
        careful->known.is_paced = false;
        return fitted;
    }
    if (careful->known.is_paced || !careful->known.is_cut || !is_too_little)
        return fitted;
    careful->known.is_paced = true;
    careful->known.n_cuts = 0;
    start_over(careful);
    fitted = greater(fitted, share * claimed_share);
    return greater(fitted, least_paced(careful));
}

static double learn(struct careful *careful, const struct riptide_policy_input *input)
{
    double fitted = (double)careful->fitted / FITTED_ONE;
    bool is_raised = careful->n_raised > 0 && input->since_ns <= input->interval_ns;
    double start = greater(START_CWND, input->base_cwnd);
    uint32_t cwnd = input->cwnd;

    if (is_raised && careful->cwnd_before < cwnd)
        cwnd = careful->cwnd_before;
    if (careful->n_raised > 0)
        careful->n_raised--;
    if (careful->known.n_settle > 0) {
        careful->known.n_settle--;
        return fitted;
    }
    if (fitted == 0)
        return start;
    if (is_too_large(careful, input, cwnd))
        return lower(careful, cwnd, input->config->cwnd_min);
    /* Connections that end in the ticks after a raise may have begun before it. */
    if (is_raised)
        start_over(careful);
    else if (careful->n_filled > careful->n_doubtful && !are_lost(careful, cwnd))
        return raise(careful, input, fitted);
    if (careful->known.n_cuts > 0 && fitted < start)
        return lesser(fitted * (1 + (double)input->since_ns / healing_ns), start);
    return fitted;
}

/* Discards all but the congestion control, which is the sender's. */
static void forget_path(struct careful *careful)
{
    bool is_bbr = careful->known.is_bbr;

    memset((unsigned char *)careful + offsetof(struct careful, known), 0,
           sizeof(*careful) - offsetof(struct careful, known));
    careful->known.is_bbr = is_bbr;
}

static double careful_combine(const struct riptide_policy_input *input, void *memory)
{
    struct careful *careful = memory;
    uint8_t opening = opening_sharers(&careful->opening);
    uint8_t sharers = opening > careful->n_filled ? opening : careful->n_filled;
    /* A rate below the path's limit is no evidence of its capacity. */
    double capacity = careful->is_full ? (double)careful->capacity : 0, fitted;
    enum halves_step step;

    if (is_other_path(careful))
        forget_path(careful);
    step = halves_turn(&careful->half_since, input);
    keep_min_rtt(careful, step);
    /*
     * Paced flights without losses were delivered in a round trip, though rates of short
     * connections are lower; because of other traffic WAIT ticks in a row are required.
     */
    if (careful->known.is_paced && careful->known.n_cuts == 0 && careful->known.n_fit >= WAIT &&
        careful->flights.lost_segs == 0 && careful->n_filled > careful->n_doubtful)
        capacity = greater(capacity, input->cwnd);
    HALVES_TAKE(step, careful->capacities, to_u16(capacity));
    HALVES_TAKE(step, careful->bursts, careful->burst);
    HALVES_TAKE(step, careful->sharers, sharers);
    fitted = pace(careful, input, learn(careful, input));
    careful->fitted = to_u16(fitted * FITTED_ONE + 0.999999); /* rounded up */
    return (double)careful->fitted / FITTED_ONE;
}

/*
 * A loaded window was proven: it stays until first flights show the contrary. A paced one was
 * delivered in a round trip; one below the start was cut.
 */
static void careful_restore(const struct riptide_policy_input *input, void *memory, double cwnd,
                            bool is_paced, uint32_t min_rtt_us)
{
    struct careful *careful = memory;

    careful->fitted = to_u16(cwnd * FITTED_ONE);
    careful->path_min_rtt_us = min_rtt_us;
    careful->known.is_paced = is_paced;
    careful->known.is_cut = cwnd < START_CWND;
    halves_turn(&careful->half_since, input);
    careful->sharers[0] = 1;
    if (is_paced)
        careful->capacities[0] = to_u16(cwnd);
}

/*
 * Slightly above the path's rate, to probe for more as BBR does (bbr_pacing_gain in
 * net/ipv4/tcp_bbr.c), or TCP's own rate, two windows in a round trip, if that is lower.
 */
static uint32_t pacing_percent(const struct careful *careful, uint32_t cwnd)
{
    double rate = share_of(careful) * pacing_gain, percent = rate > 0 ? 100 * cwnd / rate : 100;

    if (!careful->known.is_paced)
        return RIPTIDE_AT_ONCE;
    return (uint32_t)(lesser(greater(percent, 50), 100) / 10 + 0.999) * 10;
}

static void careful_explain(const void *memory, struct riptide_explanation *explanation)
{
    const struct careful *careful = memory;
    double fitted = (double)careful->fitted / FITTED_ONE,
           capacity = HALVES_MAX(careful->capacities);

    explanation->evidence.capacity = capacity;
    explanation->evidence.burst = HALVES_MAX(careful->bursts);
    explanation->evidence.sharers = HALVES_MAX(careful->sharers);
    explanation->evidence.brake =
        careful->known.n_cuts > 0 && capacity > fitted ? fitted / capacity : 1;
    explanation->evidence.min_rtt_us = careful->path_min_rtt_us;
    explanation->evidence.pacing_percent = pacing_percent(careful, explanation->cwnd);
}

/* Of several raises in a row the lowest window counts. */
static void careful_raised(void *memory, uint32_t cwnd)
{
    struct careful *careful = memory;

    if (careful->n_raised > 0 && careful->cwnd_before < cwnd)
        cwnd = careful->cwnd_before;
    note_raise(careful, cwnd, RAISED_BETWEEN);
}

static bool careful_is_cut(const void *memory)
{
    return ((const struct careful *)memory)->known.is_cut;
}

const struct riptide_policy policy_careful = {
    .name = "careful",
    .help = "by losses of first flights: grows while there are none, shrinks at once otherwise",
    .needs = "cwnd delivery_rate_Bps app_limited min_rtt_us rtt_us mss_bytes data_segs_out "
             "retrans_segs acked_bytes last_data_sent_ms congestion_control closed",
    .tick_bytes = offsetof(struct careful, known),
    .bytes = sizeof(struct careful),
    .add = careful_add,
    .combine = careful_combine,
    .combines_idle = true,
    .needs_closed = true,
    .restore = careful_restore,
    .explain = careful_explain,
    .is_cut = careful_is_cut,
    .raised = careful_raised,
};
