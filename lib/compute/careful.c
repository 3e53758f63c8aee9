/*
 * Policy "careful": a window that first flights have shown to fit. It is slow start, but from
 * connection to connection: what a first flight filled without a loss is more for the next ones, as
 * fast as other evidence of the path allows; what it lost is taken off at once.
 *
 * The steps are explained where they are taken; docs/policies.md has the sources, and
 * docs/results/duel.md what they do on real TCP. Pure.
 */
#include "estimator.h"
#include "evidence.h"
#include "internal.h"
#include "policy.h"
#include "smoothing.h"

#include <string.h>

struct careful {
    /* of this tick */
    float capacity; /* sum over connections, segments; 0: no evidence */
    uint32_t min_rtt_us;
    uint16_t burst;              /* segments; 0: no evidence */
    uint16_t first_segs;         /* sent in first flights since the last tick */
    uint16_t first_retrans_segs; /* of those, lost and sent again */
    struct opening opening;
    bool is_near : 1;     /* some round trip time was within ten times the kept one */
    uint8_t n_filled : 7; /* first flights that took the whole window and lost nothing */
    /* kept */
    struct {
        bool is_cut : 1;      /* first flights have lost lately */
        bool is_settling : 1; /* the window has just changed */
        bool is_bbr : 1;      /* of the newest open connection */
        uint8_t n_fit : 5;    /* ticks since the cut whose first flights fit */
    } known;
    uint32_t path_min_rtt_us; /* under which the evidence was gathered */
    uint8_t sharers[2];
    uint16_t bursts[2];
    uint16_t fitted; /* what first flights fit, in 1 / FITTED_ONE segments; 0: not known */
    float capacities[2];
    struct halves halves;
};
ASSERT_MEMORY_FITS(struct careful);

enum { FITTED_ONE = 16, MOST_FILLED = 127 };

/* Where nothing is known of first flights: an initial window that is in wide use, and harmless. */
enum { START = 24 };

/*
 * Up to what is derived from other connections a window that was filled without a loss doubles, as
 * in slow start. Up to the share of capacity that may be claimed (RFC 9959: half) it grows by half,
 * and from there to the capacity by an eighth: larger flights could not arrive in one round trip.
 */
static const double growth_derived = 2, growth_share = 1.5, growth_capacity = 1.125;

/*
 * First flights speak against our window where more than a twentieth of them had to be sent again:
 * a stray loss is the path's, an overflow takes the whole tail of a flight. What was not lost is
 * then what fits; a tenth less leaves room for those that come back with more.
 */
enum { LOSS_SHARE = 20 };
static const double fit_margin = 0.9;

/*
 * After a loss, little by little: a sixty-fourth for each tick that shows a flight that fits, and
 * 1 % a second without any. FIT_AGAIN such ticks in a row, and the loss was of another time.
 */
enum { FIT_AGAIN = 30 };
static const double growth_cut = 1 + 1.0 / 64, healing_ns = 100e9;

/* BBR sends its first flight in RTT / 2.89 (bbr_high_gain in net/ipv4/tcp_bbr.c). */
static const double pacing_gain = 2.89;

static uint16_t to_u16(double value)
{
    return value < UINT16_MAX ? (uint16_t)value : UINT16_MAX;
}

/* Segments that the connection has waiting in queues: RTT above the smallest, times its rate. */
static double queue_of(const struct riptide_sample *sample, double capacity)
{
    if (sample->rtt_us <= sample->min_rtt_us)
        return 0;
    return capacity * (sample->rtt_us - sample->min_rtt_us) / sample->min_rtt_us;
}

/*
 * What the buffer at the bottleneck was seen to take at once. A window that grew without a single
 * retransmission was sent in slow start at twice the rate of the bottleneck, which left half of it
 * in the queue.
 */
static double burst_of(const struct riptide_sample *sample, double capacity)
{
    double burst = queue_of(sample, capacity);

    if (sample->retrans_segs == 0 && sample->data_segs_out >= sample->cwnd &&
        sample->cwnd / 2.0 > burst)
        burst = sample->cwnd / 2.0;
    return burst;
}

/*
 * Takes in what the first flight of a new connection shows. True where it shows anything. An open
 * one is asked when its flight is over: acknowledged to the end.
 */
static bool add_first_flight(struct careful *careful, const struct riptide_policy_input *input,
                             const struct riptide_sample *sample)
{
    uint64_t ago_ns = (uint64_t)sample->last_data_sent_ms * 1000000;
    uint32_t cwnd = input->cwnd, flight = evidence_segs_sent_once(sample), lost;

    if (flight > cwnd)
        flight = cwnd;
    if (cwnd == 0 || (input->interval_ns > 0 && ago_ns > input->interval_ns) ||
        (!sample->closed && sample->acked_bytes < (uint64_t)flight * sample->mss_bytes) ||
        !evidence_first_flight(sample, cwnd, careful->known.is_bbr, &lost))
        return false;
    careful->first_segs = to_u16((double)careful->first_segs + flight);
    careful->first_retrans_segs = to_u16((double)careful->first_retrans_segs + lost);
    if (lost == 0 && flight == cwnd && careful->n_filled < MOST_FILLED)
        careful->n_filled++;
    return true;
}

static enum riptide_left_out careful_add(const struct riptide_policy_input *input, void *memory,
                                         const struct riptide_sample *sample)
{
    enum riptide_left_out reason = evidence_check(sample);
    struct careful *careful = memory;
    bool has_flight = add_first_flight(careful, input, sample);
    double capacity, burst;

    if (!sample->closed) {
        careful->known.is_bbr = strncmp(sample->congestion_control, "bbr", 3) == 0;
        /* Those that closed did so all over the interval, not together. */
        if (evidence_is_opening(sample, input->cwnd))
            opening_add(&careful->opening, sample);
    }
    /* A first flight counts even where the connection has nothing more to say. */
    if (reason != RIPTIDE_LEFT_OUT_NOT)
        return has_flight ? RIPTIDE_LEFT_OUT_NOT : reason;

    capacity = evidence_capacity(sample);
    burst = burst_of(sample, capacity);
    if (burst > careful->burst)
        careful->burst = to_u16(burst);
    if (careful->min_rtt_us == 0 || sample->min_rtt_us < careful->min_rtt_us)
        careful->min_rtt_us = sample->min_rtt_us;
    if (careful->path_min_rtt_us == 0 || sample->rtt_us / 10 <= careful->path_min_rtt_us)
        careful->is_near = true;
    if (sample->app_limited)
        return RIPTIDE_LEFT_OUT_NOT;
    /* Those that are open send at one time, so that the path carries all of them together. */
    if (!sample->closed)
        careful->capacity += (float)capacity;
    else if (capacity > (double)careful->capacity)
        careful->capacity = (float)capacity;
    return RIPTIDE_LEFT_OUT_NOT;
}

/* RFC 9959, Sec. 3.2 and 4.2.1: below half or above ten times, it is another path. */
static bool is_other_path(const struct careful *careful)
{
    if (careful->min_rtt_us == 0 || careful->path_min_rtt_us == 0)
        return false;
    return careful->min_rtt_us < careful->path_min_rtt_us / 2 || !careful->is_near;
}

/*
 * What a window of `cwnd`, filled without a loss, may be next. Connections that were seen to open
 * together share what the path holds; those that filled their windows in one tick may come together
 * the next time.
 */
static double grow(const struct careful *careful, const struct riptide_estimator_config *config,
                   double cwnd)
{
    double sharers = HALVES_MAX(careful->sharers);
    double capacity = (double)HALVES_MAX(careful->capacities) / sharers, next;
    double burst = HALVES_MAX(careful->bursts) / sharers;
    double share = capacity * config->capacity_fraction;

    if (config->paced)
        burst += capacity / pacing_gain;
    /* Where no rate is known, what the buffer took stands alone. */
    next = lesser(cwnd * growth_derived, capacity > 0 ? lesser(share, burst) : burst);
    next = greater(next, lesser(cwnd * growth_share, share));
    next = greater(next, lesser(cwnd * growth_capacity, capacity));
    return greater(next, cwnd);
}

/* First flights have lost: what they fit is what was left of them. */
static double cut(struct careful *careful, const struct riptide_policy_input *input)
{
    double fit = 1 - (double)careful->first_retrans_segs / careful->first_segs;

    careful->known.is_cut = careful->known.is_settling = true;
    careful->known.n_fit = 0;
    return greater(input->cwnd * fit * fit_margin, input->config->cwnd_min);
}

static double learn(struct careful *careful, const struct riptide_policy_input *input)
{
    double fitted = (double)careful->fitted / FITTED_ONE;
    /* Flights that end in the tick after a change may have begun with the window before it. */
    bool is_settling = careful->known.is_settling && input->since_ns <= input->interval_ns;

    careful->known.is_settling = false;
    if (is_settling)
        return fitted;
    if (fitted == 0)
        return START;
    if ((uint32_t)careful->first_retrans_segs * LOSS_SHARE > careful->first_segs)
        return cut(careful, input);
    if (careful->n_filled > 0 && careful->known.is_cut) {
        careful->known.is_cut = ++careful->known.n_fit < FIT_AGAIN;
        return fitted * growth_cut;
    }
    if (careful->n_filled > 0) {
        careful->known.is_settling = true;
        return greater(fitted, grow(careful, input->config, input->cwnd));
    }
    if (careful->known.is_cut && fitted < START)
        return lesser(fitted * (1 + (double)input->since_ns / healing_ns), START);
    return fitted;
}

static double careful_combine(const struct riptide_policy_input *input, void *memory, bool *renewed)
{
    struct careful *careful = memory;
    uint8_t opening = opening_sharers(&careful->opening);
    uint8_t sharers = opening > careful->n_filled ? opening : careful->n_filled;
    enum halves_step step;
    double fitted;

    (void)renewed;
    if (is_other_path(careful)) {
        careful->halves = (struct halves){ 0 };
        careful->known.is_cut = careful->known.is_settling = false;
        careful->fitted = 0;
    }
    if (careful->min_rtt_us > 0)
        careful->path_min_rtt_us = careful->min_rtt_us;
    step = halves_turn(&careful->halves, input);
    HALVES_TAKE(step, careful->capacities, careful->capacity);
    HALVES_TAKE(step, careful->bursts, careful->burst);
    HALVES_TAKE(step, careful->sharers, sharers);
    fitted = learn(careful, input);
    careful->fitted = to_u16(fitted * FITTED_ONE);
    /* Rounded up. */
    careful->fitted = (uint16_t)(careful->fitted + (careful->fitted < fitted * FITTED_ONE &&
                                                    careful->fitted < UINT16_MAX));
    return (double)careful->fitted / FITTED_ONE;
}

/* A window that was kept was proven: it stands until first flights say otherwise. */
static void careful_restore(const struct riptide_policy_input *input, void *memory, double cwnd)
{
    struct careful *careful = memory;

    (void)input;
    careful->fitted = to_u16(cwnd * FITTED_ONE);
}

static void careful_explain(const void *memory, struct riptide_explanation *explanation)
{
    const struct careful *careful = memory;
    double fitted = (double)careful->fitted / FITTED_ONE;

    explanation->evidence.capacity = (double)HALVES_MAX(careful->capacities);
    explanation->evidence.burst = HALVES_MAX(careful->bursts);
    explanation->evidence.sharers = HALVES_MAX(careful->sharers);
    explanation->evidence.brake = 1;
    if (careful->known.is_cut && explanation->evidence.capacity > fitted)
        explanation->evidence.brake = fitted / explanation->evidence.capacity;
    explanation->evidence.min_rtt_us = careful->path_min_rtt_us;
}

const struct riptide_policy policy_careful = {
    .name = "careful",
    .help = "what first flights fit: more while they lose nothing, less at once where they lose",
    .needs = "cwnd delivery_rate_Bps app_limited min_rtt_us rtt_us mss_bytes data_segs_out "
             "retrans_segs acked_bytes last_data_sent_ms congestion_control closed",
    .tick_bytes = offsetof(struct careful, known),
    .bytes = sizeof(struct careful),
    .smoothing = &smoothing_none,
    .add = careful_add,
    .combine = careful_combine,
    .restore = careful_restore,
    .explain = careful_explain,
};
