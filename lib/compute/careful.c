/* SPDX-License-Identifier: MIT */
/*
 * Policy "careful": slow start and AIMD, but from connection to connection.
 *
 * The evidence is the first flight of each connection: the segments that it sent of its initial
 * window. Flights that fill the window and fit raise it for later connections. Where flights lose,
 * they are paced first, and the window is cut if they lose then as well. A loss counts by the round
 * trips that it cost, and flights that share a round trip count as one. docs/policies.md has the rule
 * with examples and figures. Pure.
 */
#include "estimator.h"
#include "window_rules.h"

/*
 * Two counters decide, from 0 on.
 *
 * `fitting` counts flights that filled the window and fit: +1 for each. A lossy flight takes 2 away,
 * so twice as many must fit as lose.
 *
 * `against` counts lossy flights: a step of at least LOSSY_AT_ONCE, or of LOSSY_PACED if flights are
 * paced, and -1 for each flight without losses. So it rises where more than a fifth of the flights
 * lose, of paced ones a third. Fewer losses are tolerated: other traffic fills a path at times, and
 * smaller flights would lose then as well.
 */
enum {
    TOO_LARGE = 16,     /* of `against`: four lossy flights in a row, or eight paced ones */
    LOSSY_AT_ONCE = 4,  /* the step for a lossy flight that left at once */
    LOSSY_PACED = 2,    /* and for a paced one */
    LOSSY_AT_MOST = 8,  /* the largest step, so that no flight alone makes a window too large */
    LOSSY_FITTING = -2, /* the step of `fitting` */
};

/* A raise needs `wait` flights that fit, and as many seconds: those that lose end last. */
enum {
    LEAST_WAIT = 4,
    MOST_WAIT = 64, /* a known limit is tried about once a minute */
};

/*
 * Where connections are rare, four flights may take hours. So a window that was never cut needs
 * fewer once it is OLD_MS old, and a lossy flight counts twice where at most RARE_PER_4S opened in
 * the last seconds.
 */
enum {
    OLD_MS = 30000,
    WAIT_WHEN_OLD = 2,
    RARE_PER_4S = 2,
};

/* Slow start until the first cut, then steps as TCP's in congestion avoidance. */
static const double growth_before_cut = 2, growth = 1.125, cut = 0.75;

/* Random loss stays below 2 % of a flight; an overflow drops the tail of every flight. */
enum { LOSSY_PART = 50 };

/*
 * Flights that are on the path within two round trips share one queue and lose together, so a step
 * is divided by their number.
 */
enum { ROUND_TRIPS_TOGETHER = 2 };

/* The rate of flights is a mean of about so many seconds. */
enum { MEAN_S = 4 };

/*
 * A connection with losses tells about its first flight only while it is short: in a longer one
 * windows have grown, and lost, again.
 */
enum {
    WINDOWS_WITH_SSTHRESH = 8, /* sent at most, in windows, if ssthresh is known */
    WINDOWS_WITHOUT = 4,       /* and if it is not */
    TIMES_SSTHRESH = 16, /* in ssthresh, if that shows that its losses came after the flight */
};

/* What decides whether a connection is of the path that the memory is about. */
enum {
    PROXY_RTT_US = 1000, /* below it, and a tenth of the path's, the peer is a proxy on this host */
    JITTER_US = 2000,    /* differences of shorter round trips are scheduling */
    FAR = 8,          /* connections in a row on another path; or more, as many as open in so many
                            seconds: fewer may have met a queue, or another host of the address */
    MSS_FADES_S = 64, /* each second the largest segment size loses a 64th, so that it halves in
                            45 s in which no connection confirms it */
    TCP_INFINITE_SSTHRESH = INT32_MAX, /* include/net/tcp.h */
};

struct careful {
    float cwnd;           /* for coming connections, segments, before bounds; 0: none yet */
    float against;        /* 0 to TOO_LARGE */
    uint32_t min_rtt_us;  /* the path's smallest; 0: unknown */
    uint32_t changed_ms;  /* when the window or its pacing changed, of the ticks' clock; wraps */
    uint16_t judged_cwnd; /* the window, within bounds, whose flights `fitting` counts; segments;
                             0: none of it so far */
    uint16_t mss_bytes;   /* the largest segment size of connections */
    uint16_t second;      /* of the last tick; wraps */
    uint16_t flights;     /* since the tick that began that second */
    uint16_t per_4s;      /* flights in MEAN_S seconds, a moving average of the time before */
    uint8_t fitting;      /* 0 to `wait` */
    uint8_t wait;         /* flights and seconds before the next raise, up to MOST_WAIT */
    uint8_t n_far;        /* connections in a row on another path */
    bool is_paced;        /* first flights are to be paced */
    bool is_cut;          /* the window was cut at some time */
    bool is_raised;       /* its last change was a raise */
};
static_assert(sizeof(struct careful) <= SMALL_MEMORY_BYTES, "memory is over its budget");

enum flight {
    NO_FLIGHT, /* no evidence */
    LOSSY,
    CLEAN,  /* without losses that count, but it did not fill the window */
    FILLED, /* it filled the window, and fit */
};

/* What the counters of a connection show about its first flight. */
static enum flight classify(const struct riptide_sample *sample)
{
    const uint64_t window = sample->initcwnd, lost = sample->retrans_segs;
    const uint64_t ssthresh = sample->ssthresh_segs;
    const uint64_t once = sample->data_segs_out > lost ? sample->data_segs_out - lost : 0;
    const uint64_t first = once < window ? once : window;
    const bool has_ssthresh = ssthresh > 0 && ssthresh < TCP_INFINITE_SSTHRESH;
    const uint64_t most_windows = has_ssthresh ? WINDOWS_WITH_SSTHRESH : WINDOWS_WITHOUT;

    /* Less than half of a window does not show that the window fits. */
    if (window == 0 || !sample->flight_ended || 2 * first < window)
        return NO_FLIGHT;
    /* The kernel's window grows only if more than half of it was in flight at once. */
    if (lost == 0)
        return once >= window && sample->cwnd > window ? FILLED : CLEAN;
    /*
     * A loss in the first flight meets a congestion window of less than two of ours, of which cubic
     * leaves 0.7 in ssthresh, rounded down (RFC 9438). Above 1.4 windows the loss came later.
     */
    if (has_ssthresh && 10 * (ssthresh + 1) > 14 * window)
        return once <= TIMES_SSTHRESH * ssthresh ? FILLED : NO_FLIGHT;
    if (once > most_windows * window)
        return NO_FLIGHT;
    /* Without ssthresh, as with bbr, losses may be of any flight. */
    if (lost * LOSSY_PART > (has_ssthresh ? first : once))
        return LOSSY;
    return once >= window ? FILLED : CLEAN;
}

/*
 * The round trips that losses cost a closed connection: the time with data in flight, less what slow
 * start from its window takes without losses. A tail that is lost on a short path waits for a timer
 * of many round trips. Of an open connection the cost is not known yet: 0.
 */
static double round_trips_lost(const struct riptide_sample *sample)
{
    double round_trips = (double)sample->busy_time_us / greater(sample->min_rtt_us, 1);
    /* A paced flight leaves over one round trip, and is acknowledged in another. */
    double expected = sample->paced ? 2 : 1;

    if (!sample->closed)
        return 0;
    for (uint32_t sent = sample->data_segs_out; sent > sample->initcwnd; sent /= 2)
        expected++;
    return greater(round_trips - expected, 0);
}

/* Brings the rate of flights, and what fades, to the second of the last tick. */
static void follow_seconds(struct careful *careful, uint64_t now_ns)
{
    uint16_t n_s = (uint16_t)(now_ns / NS_PER_S - careful->second);
    double more, fade = lesser((double)n_s / MSS_FADES_S, 0.5);

    if (n_s == 0)
        return;
    more = (double)careful->flights / n_s - careful->per_4s / (double)MEAN_S;
    careful->per_4s = (uint16_t)(careful->per_4s + more * lesser(n_s, MEAN_S) + 0.5);
    careful->flights = 0;
    careful->second = (uint16_t)(careful->second + n_s);
    careful->mss_bytes = (uint16_t)(careful->mss_bytes * (1 - fade) + 0.5);
}

/* Flights a second: the mean, or those of the present interval where they are more. */
static double flights_per_s(const struct careful *careful, uint64_t interval_ns)
{
    double interval_s = greater((double)interval_ns / NS_PER_S, 1);

    return greater(careful->per_4s / (double)MEAN_S, careful->flights / interval_s);
}

/* RFC 9959 takes a round trip below half, or above ten times, for another path's. */
static bool is_other_path(uint64_t now_us, uint64_t known_us)
{
    bool is_jitter = now_us <= JITTER_US && known_us <= JITTER_US;

    return known_us > 0 && !is_jitter && (now_us > 10 * known_us || 2 * now_us < known_us);
}

/* Forgets all but the rate of flights. The window begins anew in the tick. */
static void forget(struct careful *careful, uint32_t min_rtt_us)
{
    *careful = (struct careful){ .min_rtt_us = min_rtt_us,
                                 .second = careful->second,
                                 .flights = careful->flights,
                                 .per_4s = careful->per_4s };
}

/*
 * Whether the connection is of the destination's path, by its smallest round trip time and its
 * segment size. As many in a row on another path as FAR says make that the path: all that is known
 * of the former one is forgotten.
 */
static bool is_of_path(struct careful *careful, const struct riptide_sample *sample)
{
    const uint64_t now_us = sample->min_rtt_us;
    const uint16_t mss_bytes = (uint16_t)lesser(sample->mss_bytes, ETHERNET_MSS_BYTES);
    const bool is_other = is_other_path(now_us, careful->min_rtt_us);
    const double far = FAR * greater(flights_per_s(careful, 0), 1);

    if (now_us < PROXY_RTT_US && 10 * now_us < careful->min_rtt_us)
        return false;
    /* Each connection once: an idle one keeps the smallest round trip of a former path. */
    if (!sample->shown)
        careful->n_far = is_other ? (uint8_t)(careful->n_far + 1) : 0;
    if (is_other && careful->cwnd > 0 && careful->n_far < lesser(far, UINT8_MAX))
        return false;
    if (is_other)
        forget(careful, 0);
    if (careful->min_rtt_us == 0 || now_us < careful->min_rtt_us)
        careful->min_rtt_us = sample->min_rtt_us;
    /* What fitted so far were segments of less than half this size. */
    if (careful->mss_bytes > 0 && mss_bytes > 2 * careful->mss_bytes && careful->cwnd > START_CWND)
        forget(careful, careful->min_rtt_us);
    careful->mss_bytes = (uint16_t)greater(careful->mss_bytes, mss_bytes);
    /* A flight of small segments tells connections with large ones nothing. */
    return 2 * mss_bytes > careful->mss_bytes;
}

/*
 * From now on flights of another window are judged, or flights that leave in another way. `against`
 * stays: what lost with a smaller window speaks against a larger one.
 */
static void begin_judging(struct careful *careful, uint64_t now_ns)
{
    careful->changed_ms = (uint32_t)(now_ns / 1000000);
    careful->judged_cwnd = 0;
    careful->fitting = 0;
}

/* The steps of `against` for a lossy flight, before they are divided. */
static double lossy_steps(const struct careful *careful, const struct riptide_sample *sample)
{
    double steps = careful->is_paced ? LOSSY_PACED : LOSSY_AT_ONCE;
    bool is_rare = careful->flights == 1 && careful->per_4s <= RARE_PER_4S;

    if (is_rare)
        steps *= 2;
    return lesser(greater(steps, round_trips_lost(sample)), LOSSY_AT_MOST);
}

/* Counts a flight for or against the present window. */
static void judge(struct careful *careful, const struct riptide_policy_input *input,
                  const struct riptide_sample *sample, enum flight flight)
{
    /* A route keeps its window while the wanted one is within a step. */
    const bool is_present = window_is_near(sample->initcwnd, input->cwnd);
    const bool is_larger = !is_present && sample->initcwnd > input->cwnd;
    const bool is_smaller = !is_present && sample->initcwnd < input->cwnd;
    const uint32_t age_ms = (uint32_t)(input->now_ns / 1000000) - careful->changed_ms;
    /* Some connections are never paced, as routes pace nothing, or their application does it. */
    const bool is_of_former_pace =
        sample->paced != careful->is_paced && (!is_present || age_ms < 1000 * LEAST_WAIT);
    double together, step = -1, against;
    int fitting;

    /* A hint or another bound has changed the window. */
    if (careful->judged_cwnd > 0 && careful->judged_cwnd != input->cwnd)
        begin_judging(careful, input->now_ns);
    careful->judged_cwnd = (uint16_t)input->cwnd;
    careful->flights = (uint16_t)lesser(careful->flights + 1, UINT16_MAX / MEAN_S);
    /* From before a cut, or before flights were paced: it says nothing about the present ones. */
    if (is_larger || is_of_former_pace)
        return;
    /* It was found too large; the tick lowers it. */
    if (careful->against >= TOO_LARGE)
        return;
    together = flights_per_s(careful, input->interval_ns) * ROUND_TRIPS_TOGETHER *
               careful->min_rtt_us / 1e6;
    if (flight == LOSSY)
        step = lossy_steps(careful, sample);
    against = (double)careful->against + step / greater(together, 1);
    /* Rounded steps add up to a little less. */
    careful->against = (float)(against > TOO_LARGE - 0.01 ? TOO_LARGE : greater(against, 0));
    /* A smaller flight does not show that the larger window fits, but what it lost counts. */
    fitting = careful->fitting;
    if (flight == LOSSY)
        fitting += LOSSY_FITTING;
    else if (flight == FILLED && !is_smaller)
        fitting++;
    careful->fitting = (uint8_t)lesser(greater(fitting, 0), careful->wait);
}

static enum riptide_left_out careful_add(const struct riptide_policy_input *input, void *memory,
                                         const struct riptide_sample *sample)
{
    struct careful *careful = memory;
    enum riptide_left_out reason = evidence_check(sample);
    enum flight flight;

    if (sample->min_rtt_us == 0 || reason == RIPTIDE_LEFT_OUT_UNUSED)
        return reason;
    follow_seconds(careful, input->now_ns);
    if (!is_of_path(careful, sample))
        return RIPTIDE_LEFT_OUT_UNMEASURED;
    flight = classify(sample);
    /* While windows are off for the destination, or not there yet, none is judged. */
    if (flight == NO_FLIGHT || careful->cwnd == 0 || input->cwnd == 0)
        return reason;
    judge(careful, input, sample, flight);
    return RIPTIDE_LEFT_OUT_NOT;
}

/* Flights that left at once are paced, if they can be; where they lose then as well, it is cut. */
static void lower(struct careful *careful, const struct riptide_policy_input *input, bool can_pace)
{
    double cwnd = input->cwnd, min = careful->is_paced ? START_CWND : input->config->cwnd_min;

    if (!careful->is_paced && can_pace) {
        careful->is_paced = true;
        careful->wait = LEAST_WAIT;
    } else {
        /* What lost was the window within bounds, of which the base route's may be larger. */
        careful->cwnd =
            (float)lesser(greater((double)careful->cwnd, cwnd), greater(cwnd * cut, min));
        careful->wait = (uint8_t)lesser(2 * careful->wait, MOST_WAIT);
        careful->is_cut = true;
    }
    careful->is_raised = false;
    careful->against = 0;
    begin_judging(careful, input->now_ns);
}

static void raise(struct careful *careful, const struct riptide_policy_input *input)
{
    double cwnd = input->cwnd, next = growth_before_cut * cwnd;

    if (careful->is_cut)
        next = greater(growth * cwnd, cwnd + 1);
    /* A bound holds the window below what fits. */
    if (next <= (double)careful->cwnd)
        return;
    careful->cwnd = (float)lesser(next, RIPTIDE_CWND_LIMIT);
    if (careful->is_raised && careful->wait > LEAST_WAIT)
        careful->wait /= 2;
    careful->is_raised = true;
    begin_judging(careful, input->now_ns);
}

static double careful_combine(const struct riptide_policy_input *input, void *memory)
{
    struct careful *careful = memory;
    uint32_t age_ms = (uint32_t)(input->now_ns / 1000000) - careful->changed_ms;
    bool is_old = !careful->is_cut && age_ms >= OLD_MS;
    uint32_t wait = is_old ? WAIT_WHEN_OLD : careful->wait;
    bool can_pace = input->can_pace && careful->min_rtt_us >= PACING_RTT_MIN_US;

    if (careful->cwnd == 0) {
        careful->cwnd = (float)greater(START_CWND, input->base_cwnd);
        careful->wait = LEAST_WAIT;
        begin_judging(careful, input->now_ns);
    } else if (careful->is_paced && !can_pace) {
        careful->cwnd = (float)lesser((double)careful->cwnd, START_CWND);
        careful->is_paced = careful->is_raised = false;
        careful->against = 0;
        begin_judging(careful, input->now_ns);
    } else if (careful->against >= TOO_LARGE && input->cwnd > 0) {
        lower(careful, input, can_pace);
    } else if (careful->fitting >= wait && age_ms >= 1000 * wait) {
        raise(careful, input);
    }
    return (double)careful->cwnd;
}

/* The loaded window stays until flights show the contrary: it was proven, or is a step above. */
static void careful_restore(const struct riptide_policy_input *input, void *memory,
                            const struct riptide_estimate *loaded)
{
    *(struct careful *)memory = (struct careful){
        .cwnd = (float)loaded->smoothed,
        .min_rtt_us = loaded->min_rtt_us,
        .wait = LEAST_WAIT,
        .is_paced = loaded->pacing_percent == 100,
        .is_cut = loaded->may_lower || loaded->smoothed < START_CWND,
    };
    begin_judging(memory, input->now_ns);
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
