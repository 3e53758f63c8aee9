/* SPDX-License-Identifier: MIT */
/*
 * Policy "careful": slow start and AIMD, from connection to connection. First flights that fill the
 * window and fit raise it; where they lose, it is paced, then cut (docs/policies.md). Pure.
 */
#include "estimator.h"

struct careful {
    float cwnd; /* for coming connections, segments; 0: none yet */
    uint32_t min_rtt_us;
    float against;      /* up to TOO_LARGE */
    uint32_t began_ms;  /* when this window, or its pacing, began; wraps */
    uint16_t given;     /* the window of flights that count, segments; 0: not known yet */
    uint16_t mss_bytes; /* the largest; halves in 45 s without one */
    uint16_t flights, since_s, per_4s; /* since that second, which wraps; mean in 4 s before */
    uint8_t fitting, wait, n_far;
    bool is_paced, is_cut, is_raised; /* cut at some time; changed last by a raise */
};
static_assert(sizeof(struct careful) <= 32, "memory is over its budget");

/*
 * A flight is lossy if it lost more than a fiftieth: random losses stay below this, and an overflow
 * drops the tail of every flight. `against` rises where more than a fifth of the flights lose; or
 * of paced ones a third, as others fill a path at times, and smaller flights lose as well.
 * TOO_LARGE: four or eight in a row, and half as many where at most one opens in two seconds.
 */
enum { LOSS_SHARE = 50, LOSSY_AT_ONCE = 4, LOSSY_PACED = 2, TOO_LARGE = 16, RARE_PER_4S = 2 };

/*
 * A lossy flight counts as many steps as the round trips that it cost, if those are more: a raise
 * saves one. A tail that is lost on a short path waits for a timer of many round trips.
 */
enum { MOST_LOSSY = 8 };

/*
 * Flights that are on the path within two round trips share one queue and lose together, so a step
 * is divided by their number. Rounded steps add up to a little less.
 */
enum { ROUND_TRIPS_TOGETHER = 2 };

/*
 * `fitting` counts flights that filled the window and fit, less twice the lossy ones. A raise needs
 * `wait` of them and seconds, as losers end last; before a cut two, once it is RARE_MS old.
 * A cut doubles `wait`, a raise after a raise halves it. Before any cut a raise doubles the window.
 */
enum { WAIT = 4, MOST_WAIT = 64 /* a known limit is tried once a minute */, RARE_MS = 30000 };
static const double growth = 1.125, cut = 0.75;

/*
 * A round trip below LOCAL_US may end at a proxy on this host; up to JITTER_US it is noise. FAR
 * in a row, or in as many seconds, on another path begin anew: fewer have met a queue or another
 * host.
 */
enum { LOCAL_US = 1000, JITTER_US = 2000, FAR = 8 };

enum flight { LOSSY = -2, CLEAN = 0, FILLED = 1, /* steps of `fitting` */ NO_FLIGHT = 2 };

/*
 * What counters show about a first flight; docs/policies.md says whose losses they were. That of an
 * open connection counts in the interval in which it ends: that of its begin, or the next one.
 */
static enum flight first_flight_of(const struct riptide_sample *sample,
                                   const struct riptide_policy_input *input, bool is_paced)
{
    uint64_t window = input->cwnd, lost = sample->retrans_segs, all = sample->data_segs_out;
    uint64_t sent = all > lost ? all - lost : 0, first = sent < window ? sent : window;
    /* Less than half of a window does not show that the window fits. */
    uint64_t least = (window + 1) / 2;
    uint64_t age_us = sample->busy_time_us + UINT64_C(1000) * sample->last_data_sent_ms;
    uint64_t flight_us = (is_paced ? UINT64_C(2) : 1) * sample->rtt_us;
    uint64_t ssthresh = sample->ssthresh_segs, interval_us = input->interval_ns / 1000;
    bool has_ssthresh = ssthresh > 0 && ssthresh < INT32_MAX; /* TCP_INFINITE_SSTHRESH */
    bool is_earlier = age_us >= interval_us + flight_us;
    /* So its age is not known; one that has sent more than three windows may have paused. */
    bool has_paused = sample->shown && (age_us < interval_us || sent > 3 * window);
    bool is_under_way = lost == 0 && sample->acked_bytes < first * sample->mss_bytes;

    if (window == 0 || sent < least ||
        (!sample->closed && (is_earlier || has_paused || is_under_way)))
        return NO_FLIGHT;
    if (lost > 0 && has_ssthresh && 10 * (ssthresh + 1) > 14 * window) /* it is rounded down */
        return sent <= 16 * ssthresh ? FILLED : NO_FLIGHT;
    if (lost > 0 && sent > (has_ssthresh ? 8 : 4) * window)
        return NO_FLIGHT;
    if (lost * LOSS_SHARE > (has_ssthresh ? first : sent))
        return LOSSY;
    /* The kernel's window grows only if more than half of it was in flight at once. */
    return sent >= window && (lost > 0 || sample->cwnd > window) ? FILLED : CLEAN;
}

/*
 * The round trips that losses cost a closed connection: those with data in flight, less those of
 * slow start from its window without a loss. Of an open one that is not known yet: 0.
 */
static double round_trips_lost(const struct riptide_sample *sample, uint32_t window, bool is_paced)
{
    double round_trips = (double)sample->busy_time_us / greater(sample->min_rtt_us, 1);
    double expected = is_paced ? 2 : 1; /* a paced flight leaves over one, and returns in one */

    if (!sample->closed)
        return 0;
    for (double sent = sample->data_segs_out; sent > window; sent /= 2)
        expected++;
    return greater(round_trips - expected, 0);
}

/* By its smallest round trip time (RFC 9959: half, ten times) and segments. Another begins anew. */
static bool is_of_path(struct careful *careful, const struct riptide_sample *sample)
{
    uint64_t now_us = sample->min_rtt_us, kept_us = careful->min_rtt_us;
    uint16_t mss_bytes = (uint16_t)lesser(sample->mss_bytes, ETHERNET_MSS_BYTES);
    double far = FAR * greater(greater(careful->per_4s / 4.0, careful->flights), 1);
    bool is_other = kept_us > 0 && (now_us > JITTER_US || kept_us > JITTER_US) &&
                    (now_us > 10 * kept_us || 2 * now_us < kept_us);

    if (now_us < LOCAL_US && 10 * now_us < kept_us)
        return false;
    /* One that was counted may be idle since, with the smallest round trip of a former path. */
    if (!sample->shown)
        careful->n_far = is_other ? (uint8_t)(careful->n_far + 1) : 0;
    if (is_other && careful->cwnd > 0 && careful->n_far < lesser(far, UINT8_MAX))
        return false;
    if (is_other)
        *careful = (struct careful){ 0 };
    if (careful->min_rtt_us == 0 || now_us < careful->min_rtt_us)
        careful->min_rtt_us = sample->min_rtt_us;
    /* What fitted so far were segments of less than half that size: the window begins anew. */
    if (careful->mss_bytes > 0 && mss_bytes > 2 * careful->mss_bytes && careful->cwnd > START_CWND)
        *careful = (struct careful){ .min_rtt_us = careful->min_rtt_us };
    careful->mss_bytes = (uint16_t)greater(careful->mss_bytes, mss_bytes);
    return 2 * mss_bytes > careful->mss_bytes;
}

/* Flights from now on have another window, or leave in another way. */
static void begin(struct careful *careful, uint64_t now_ns)
{
    careful->began_ms = (uint32_t)(now_ns / 1000000);
    careful->given = 0;
    careful->fitting = 0;
}

static enum riptide_left_out careful_add(const struct riptide_policy_input *input, void *memory,
                                         const struct riptide_sample *sample)
{
    struct careful *careful = memory;
    enum riptide_left_out reason = evidence_check(sample);
    enum flight flight;
    uint64_t seen_ns = input->now_ns + (sample->closed ? 0 : input->interval_ns); /* or later */
    uint32_t since_ms = (uint32_t)(seen_ns / 1000000) - careful->began_ms;
    bool is_earlier = sample->busy_time_us / 1000 + sample->last_data_sent_ms >= since_ms;
    uint16_t n_s = (uint16_t)(input->now_ns / NS_PER_S - careful->since_s);
    double against = (double)careful->against, interval_s = (double)input->interval_ns / NS_PER_S;
    double lossy = careful->is_paced ? LOSSY_PACED : LOSSY_AT_ONCE, per_s, together, more;

    if (sample->min_rtt_us == 0 || reason == RIPTIDE_LEFT_OUT_UNUSED)
        return reason;
    if (n_s > 0) {
        more = (double)careful->flights / n_s - careful->per_4s / 4.0;
        careful->per_4s = (uint16_t)(careful->per_4s + more * lesser(n_s, 4) + 0.5);
        careful->flights = 0;
        careful->since_s = (uint16_t)(careful->since_s + n_s);
        careful->mss_bytes = (uint16_t)(careful->mss_bytes * (1 - lesser(n_s, 32) / 64));
    }
    if (!is_of_path(careful, sample))
        return RIPTIDE_LEFT_OUT_UNMEASURED;
    /* What shows another path is a flight of the former one's window. */
    flight = careful->cwnd > 0 ? first_flight_of(sample, input, careful->is_paced) : NO_FLIGHT;
    if (flight == NO_FLIGHT)
        return reason;
    if (careful->given > 0 && careful->given != input->cwnd) {
        begin(careful, input->now_ns); /* a hint or another bound changed the window */
        is_earlier = true;
    }
    careful->given = (uint16_t)input->cwnd;
    careful->flights = (uint16_t)lesser(careful->flights + 1, UINT16_MAX / 4);
    /* Flights from before a raise do not show that the larger window fits, but what they lost. */
    if (is_earlier && flight == FILLED)
        flight = CLEAN;
    if (careful->against >= TOO_LARGE || (is_earlier && !careful->is_raised))
        return RIPTIDE_LEFT_OUT_NOT;
    per_s = greater(careful->per_4s / 4.0, careful->flights / greater(interval_s, 1));
    together = per_s * ROUND_TRIPS_TOGETHER * careful->min_rtt_us / 1e6;
    if (careful->flights == 1 && careful->per_4s <= RARE_PER_4S)
        lossy *= 2;
    lossy = greater(lossy, round_trips_lost(sample, input->cwnd, careful->is_paced));
    against += (flight == LOSSY ? lesser(lossy, MOST_LOSSY) : -1) / greater(together, 1);
    careful->fitting = (uint8_t)lesser(greater(careful->fitting + (int)flight, 0), careful->wait);
    careful->against = (float)(against > TOO_LARGE - 0.01 ? TOO_LARGE : greater(against, 0));
    return RIPTIDE_LEFT_OUT_NOT;
}

/* Paces what left at once; what cannot be paced, or is, gets a smaller window. */
static void lower(struct careful *careful, const struct riptide_policy_input *input, bool can_pace)
{
    double cwnd = input->cwnd, min = careful->is_paced ? START_CWND : input->config->cwnd_min;

    if (!careful->is_paced && can_pace) {
        careful->is_paced = true;
        careful->wait = WAIT;
    } else {
        careful->cwnd =
            (float)lesser(greater((double)careful->cwnd, cwnd), greater(cwnd * cut, min));
        careful->wait = (uint8_t)lesser(2 * careful->wait, MOST_WAIT);
        careful->is_cut = true;
    }
    careful->is_raised = false;
    careful->against = 0;
    begin(careful, input->now_ns);
}

static void raise(struct careful *careful, const struct riptide_policy_input *input)
{
    double cwnd = input->cwnd, next = careful->is_cut ? greater(cwnd * growth, cwnd + 1) : 2 * cwnd;

    if (next <= (double)careful->cwnd)
        return; /* a bound holds it below what fits */
    careful->cwnd = (float)lesser(next, RIPTIDE_CWND_LIMIT);
    if (careful->is_raised && careful->wait > WAIT)
        careful->wait /= 2;
    careful->is_raised = true;
    begin(careful, input->now_ns);
}

static double careful_combine(const struct riptide_policy_input *input, void *memory)
{
    struct careful *careful = memory;
    uint32_t since_ms = (uint32_t)(input->now_ns / 1000000) - careful->began_ms;
    uint32_t wait = !careful->is_cut && since_ms >= RARE_MS ? 2 : careful->wait;
    bool can_pace = input->can_pace && careful->min_rtt_us >= PACING_RTT_MIN_US;

    if (careful->cwnd == 0) {
        careful->cwnd = (float)greater(START_CWND, input->base_cwnd);
        careful->wait = WAIT;
        begin(careful, input->now_ns);
    } else if (careful->is_paced && !can_pace) {
        careful->cwnd = (float)lesser((double)careful->cwnd, START_CWND);
        careful->is_paced = false;
        begin(careful, input->now_ns);
    } else if (careful->against >= TOO_LARGE && input->cwnd > 0) { /* 0: windows are off */
        lower(careful, input, can_pace);
    } else if (careful->fitting >= wait && since_ms >= 1000 * wait) {
        raise(careful, input);
    }
    return (double)careful->cwnd;
}

/* It stays until first flights show the contrary: it was proven, or is a step above what was. */
static void careful_restore(const struct riptide_policy_input *input, void *memory,
                            const struct riptide_estimate *loaded)
{
    *(struct careful *)memory = (struct careful){
        .cwnd = (float)loaded->smoothed,
        .min_rtt_us = loaded->min_rtt_us,
        .wait = WAIT,
        .is_paced = loaded->pacing_percent == 100,
        .is_cut = loaded->may_lower || loaded->smoothed < START_CWND,
    };
    begin(memory, input->now_ns);
}

static void careful_explain(const void *memory, struct riptide_estimate *estimate)
{
    const struct careful *careful = memory;

    estimate->min_rtt_us = careful->min_rtt_us;
    estimate->pacing_percent = careful->is_paced ? 100 : RIPTIDE_AT_ONCE;
    estimate->may_lower = careful->is_cut;
    estimate->fitting = careful->fitting;
    estimate->wait = careful->wait;
    estimate->against = (uint32_t)careful->against;
}

const struct riptide_policy policy_careful = {
    .name = "careful",
    .memory_bytes = sizeof(struct careful),
    .add = careful_add,
    .combine = careful_combine,
    .restore = careful_restore,
    .explain = careful_explain,
};
