/*
 * Policy "careful": a window that the path has shown it can take, out of evidence and not of
 * windows alone, because a window is also what a connection was given:
 *
 *     min(capacity x capacity_fraction, burst) / sharers x brake
 *
 * Each factor is explained where it is computed; docs/policies.md has the sources. Pure.
 */
#include "estimator.h"
#include "evidence.h"
#include "policy.h"
#include "smoothing.h"

struct careful {
    /* of this tick */
    float capacity; /* segments; 0: no evidence */
    uint32_t min_rtt_us;
    uint16_t burst;              /* segments; 0: no evidence */
    uint16_t first_segs;         /* sent in first flights since the last tick */
    uint16_t first_retrans_segs; /* of those, lost and sent again */
    struct opening opening;
    uint8_t is_near; /* some round trip time was within ten times the kept one */
    /* kept */
    uint32_t path_min_rtt_us; /* under which the evidence was gathered */
    uint8_t sharers[2];
    uint16_t bursts[2];
    uint16_t brake; /* what losses took off the window, of 65535 */
    float capacities[2];
    struct halves halves;
};
ASSERT_MEMORY_FITS(struct careful);

/*
 * A first flight speaks against our window where more than a twentieth of it had to be sent again:
 * a stray loss is the path's, an overflow takes the whole tail of a flight. One cut takes what
 * cubic's does (RFC 9438: beta 0.7); all of it is back after a minute without.
 */
enum { LOSS_SHARE = 20, BRAKE_NONE = 65535, BRAKE_FLOOR = BRAKE_NONE / 8 };
static const double cut = 0.7, recovery_ns = 60e9;

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
 * in the queue. A first flight of our own window that lost nothing is its own proof.
 */
static double burst_of(const struct riptide_sample *sample, double capacity, uint32_t cwnd)
{
    double burst = queue_of(sample, capacity);

    if (sample->retrans_segs > 0)
        return burst;
    if (sample->data_segs_out >= sample->cwnd && sample->cwnd / 2.0 > burst)
        burst = sample->cwnd / 2.0;
    /* The rate says that they went out in one flight, not one by one. */
    if (cwnd > burst && sample->data_segs_out >= cwnd && capacity >= cwnd / 2.0 &&
        evidence_is_opening(sample, cwnd))
        burst = cwnd;
    return burst;
}

/*
 * Connections that can only be in the flights that our window allowed, and sent since the last
 * tick. True where such a one lost something.
 */
static bool add_first_flight(struct careful *careful, const struct riptide_policy_input *input,
                             const struct riptide_sample *sample)
{
    uint64_t ago_ns = (uint64_t)sample->last_data_sent_ms * 1000000;

    if (input->cwnd == 0 || (input->interval_ns > 0 && ago_ns > input->interval_ns))
        return false;
    careful->first_segs = to_u16((double)careful->first_segs + sample->data_segs_out);
    careful->first_retrans_segs =
        to_u16((double)careful->first_retrans_segs + sample->retrans_segs);
    return sample->retrans_segs > 0;
}

static enum riptide_left_out careful_add(const struct riptide_policy_input *input, void *memory,
                                         const struct riptide_sample *sample)
{
    bool is_opening = evidence_is_opening(sample, input->cwnd), has_lost = false;
    enum riptide_left_out reason = evidence_check(sample);
    struct careful *careful = memory;
    double capacity, burst;

    if (is_opening) {
        has_lost = add_first_flight(careful, input, sample);
        /* Those that closed did so all over the interval, not together. */
        if (!sample->closed)
            opening_add(&careful->opening, sample);
    }
    /* A loss counts even where the connection has nothing more to say. */
    if (reason != RIPTIDE_LEFT_OUT_NOT)
        return has_lost ? RIPTIDE_LEFT_OUT_NOT : reason;

    capacity = evidence_capacity(sample);
    burst = burst_of(sample, capacity, input->cwnd);
    if (burst > careful->burst)
        careful->burst = to_u16(burst);
    if (careful->min_rtt_us == 0 || sample->min_rtt_us < careful->min_rtt_us)
        careful->min_rtt_us = sample->min_rtt_us;
    if (careful->path_min_rtt_us == 0 || sample->rtt_us / 10 <= careful->path_min_rtt_us)
        careful->is_near = 1;
    if (!sample->app_limited && capacity > (double)careful->capacity)
        careful->capacity = (float)capacity;
    return sample->app_limited && burst == 0 && !has_lost ? RIPTIDE_LEFT_OUT_UNMEASURED
                                                          : RIPTIDE_LEFT_OUT_NOT;
}

/* RFC 9959, Sec. 3.2 and 4.2.1: below half or above ten times, it is another path. */
static bool is_other_path(const struct careful *careful)
{
    if (careful->min_rtt_us == 0 || careful->path_min_rtt_us == 0)
        return false;
    return careful->min_rtt_us < careful->path_min_rtt_us / 2 || !careful->is_near;
}

static void apply_brake(struct careful *careful, const struct riptide_policy_input *input)
{
    double brake = (double)(BRAKE_NONE - careful->brake);

    if ((uint32_t)careful->first_retrans_segs * LOSS_SHARE > careful->first_segs)
        brake *= cut;
    else if (input->interval_ns > 0)
        brake += BRAKE_NONE * ((double)input->interval_ns / recovery_ns);
    if (brake < BRAKE_FLOOR)
        brake = BRAKE_FLOOR;
    careful->brake = (uint16_t)(BRAKE_NONE - to_u16(brake));
}

static double careful_combine(const struct riptide_policy_input *input, void *memory, bool *renewed)
{
    struct careful *careful = memory;
    uint8_t sharers = opening_sharers(&careful->opening);
    double capacity, burst, window;
    bool is_void = is_other_path(careful);

    if (is_void) {
        careful->halves = (struct halves){ 0 };
        careful->brake = 0;
        careful->path_min_rtt_us = careful->min_rtt_us;
    }
    apply_brake(careful, input);
    /* Old evidence makes way for new evidence, not for silence: that is what the TTL is for. */
    if (careful->capacity > 0) {
        enum halves_step step = halves_turn(&careful->halves, input);

        HALVES_TAKE(step, careful->capacities, careful->capacity);
        HALVES_TAKE(step, careful->bursts, careful->burst);
        HALVES_TAKE(step, careful->sharers, sharers);
        careful->path_min_rtt_us = careful->min_rtt_us;
    } else {
        *renewed = false;
        if (!careful->halves.is_begun)
            return is_void ? 0 : RIPTIDE_NO_EVIDENCE;
        HALVES_TAKE(HALVES_STAY, careful->bursts, careful->burst);
        HALVES_TAKE(HALVES_STAY, careful->sharers, sharers);
    }

    capacity = (double)HALVES_MAX(careful->capacities);
    burst = HALVES_MAX(careful->bursts);
    if (input->config->paced)
        burst += capacity / pacing_gain;
    window = capacity * input->config->capacity_fraction;
    if (burst < window)
        window = burst;
    return window / HALVES_MAX(careful->sharers) * (BRAKE_NONE - careful->brake) / BRAKE_NONE;
}

/* A window that was kept was proven: it stands until newer evidence replaces it. */
static void careful_restore(const struct riptide_policy_input *input, void *memory, double cwnd)
{
    struct careful *careful = memory;

    halves_turn(&careful->halves, input);
    careful->capacities[0] = (float)(cwnd / input->config->capacity_fraction);
    careful->bursts[0] = to_u16(cwnd + 0.5);
    careful->sharers[0] = 1;
}

static void careful_explain(const void *memory, struct riptide_explanation *explanation)
{
    const struct careful *careful = memory;

    explanation->evidence.capacity = (double)HALVES_MAX(careful->capacities);
    explanation->evidence.burst = HALVES_MAX(careful->bursts);
    explanation->evidence.sharers = HALVES_MAX(careful->sharers);
    explanation->evidence.brake = (double)(BRAKE_NONE - careful->brake) / BRAKE_NONE;
    explanation->evidence.min_rtt_us = careful->path_min_rtt_us;
}

const struct riptide_policy policy_careful = {
    .name = "careful",
    .help = "min(half the capacity, burst) / connections that open together, from evidence alone",
    .needs = "cwnd delivery_rate_Bps app_limited min_rtt_us rtt_us mss_bytes data_segs_out "
             "retrans_segs last_data_sent_ms closed",
    .tick_bytes = offsetof(struct careful, path_min_rtt_us),
    .bytes = sizeof(struct careful),
    .smoothing = &smoothing_none,
    .add = careful_add,
    .combine = careful_combine,
    .restore = careful_restore,
    .explain = careful_explain,
};
