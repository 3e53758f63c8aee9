/* SPDX-License-Identifier: MIT */
/*
 * Policy "careful": slow start and AIMD, but from connection to connection.
 *
 * The evidence is the first flight of each connection: the segments that it sent of its initial
 * window. A window begins at START_CWND. Flights that fill it and lose nothing raise it for later
 * connections. Where flights lose, later ones are paced first; where paced ones lose as well, the
 * window is cut. A loss counts by the round trips that it cost. Against a window, flights that
 * share a round trip count as one.
 *
 * The file has the constants first, by what they decide, and then the memory of a destination. It
 * goes on with what one connection shows of its first flight, whether that connection is of the
 * destination's path, how its flight is counted, and what a tick makes of the counts.
 * docs/policies.md has the rule with examples and figures. Pure.
 */
#include "estimator.h"
#include "window_rules.h"

/*
 * Two counters decide. Both begin at 0 and never fall below it.
 *
 * `fitting` counts towards a raise. A flight that filled the window and fit adds 1. A lossy flight
 * takes LOSSY_FITTING away, so that more than twice as many must fit as lose.
 *
 * `against` counts towards pacing or a cut. A lossy flight adds a step, and any other flight takes
 * 1 away. So with steps of 4 it rises where more than a fifth of the flights lose, and with steps
 * of 2 where more than a third do. Below that, losses are put up with: other traffic fills a path
 * at times, and smaller flights would lose then as well.
 */
enum {
    /* The value of `against` at which the window is too large. It goes no higher. */
    TOO_LARGE = 16,
    /* The least step for a lossy flight that left at once. Its cost in round trips may raise it. */
    STEP_AT_ONCE = 4,
    /*
     * Likewise for a paced one. It is smaller, as the answer to it is a cut, and not pacing. To
     * pace a flight costs at most a round trip, but the cut of a window that other traffic fills
     * helps nobody.
     */
    STEP_PACED = 2,
    /* The largest step. It is below TOO_LARGE, so that no flight alone makes a window too large. */
    STEP_MAX = 8,
    LOSSY_FITTING = 2,
};

/*
 * A raise needs `wait` flights that fit, and a window that is `wait` seconds old. Flights alone do
 * not suffice: of connections that open together, those with losses close last, so that the first
 * ones to be seen fit. A cut doubles `wait`, and a raise that follows a raise halves it.
 */
enum {
    WAIT_MIN = 4,
    /* A limit that was found by cuts is tried about once a minute. */
    WAIT_MAX = 64,
};

/*
 * Where connections are rare, four flights that fit may take hours. So a window that was never cut
 * needs only WAIT_WHEN_OLD of them once it is OLD_MS old.
 *
 * The age decides, and not how rare connections are, so this holds where many open as well. If a
 * third of the paced ones lose, `against` does not rise, but `fitting` still reaches 2 now and
 * then. Such a window doubles every 30 s until more than a third lose.
 */
enum {
    OLD_MS = 30000,
    WAIT_WHEN_OLD = 2,
};

/* The rate of flights is a moving average of about so many seconds. */
enum { MEAN_S = 4 };

/*
 * Where connections are rare, a window that doubled too far would lose for hours. So the least step
 * is doubled for a flight that is the first one counted in its second, where per_4s is at most
 * this.
 */
enum { RARE_PER_4S = 2 };

/*
 * Flights that are on the path within so many round trips share one queue and lose together. So
 * what each adds to `against`, or takes away, is divided by their number. `fitting` is not divided.
 */
enum { SHARED_ROUND_TRIPS = 2 };

/* Until the first cut a raise doubles the window, as slow start does. */
static const double growth_before_cut = 2;

/* After it a raise is an eighth, at least a segment: small steps, as in congestion avoidance. */
static const double growth = 1.125;

/* The part of the window that a cut leaves. */
static const double cut = 0.75;

/*
 * A flight is lossy where more than one segment in so many was lost. Random loss stays below 2 % of
 * a flight; an overflow drops the tail of every flight. In a flight of fewer than 50 segments a
 * single lost one is more than that.
 */
enum { LOSSY_PART = 50 };

/*
 * A connection with losses tells about its first flight only while it is short. In a longer one the
 * window has grown and met losses of its own.
 */
enum {
    /* The longest such connection, as a multiple of its initial window, if ssthresh is known. */
    WINDOWS_WITH_SSTHRESH = 8,
    /* Likewise if it is not known, as with bbr: its losses may be those of any flight. */
    WINDOWS_WITHOUT = 4,
    /* The longest one, as a multiple of ssthresh, whose ssthresh shows a later flight lost. */
    TIMES_SSTHRESH = 16,
};

/* An ssthresh from here on is none: TCP_INFINITE_SSTHRESH in include/net/tcp.h. */
enum { INFINITE_SSTHRESH = INT32_MAX };

/* What decides whether a connection is of the path that the memory is about. */
enum {
    /* Below this, and below a tenth of the path's, a round trip ends at a proxy on this host. */
    PROXY_RTT_US = 1000,
    /* Up to this, round trips differ by the scheduling of hosts. */
    JITTER_US = 2000,
    /*
     * So many connections in a row on another path make that the path: at least 8, and as many as
     * open in 8 s, up to 255. Fewer may have met a queue, or another host behind the address.
     */
    OTHER_PATH_MIN = 8,
    OTHER_PATH_S = 8,
    /*
     * Each second the largest segment size loses a 64th: without new ones it halves in 45 s. A
     * single gap in samples halves it at most.
     */
    MSS_FADES_S = 64,
};

struct careful {
    float cwnd;            /* for coming connections, segments, before bounds; 0: none yet */
    float against;         /* 0 to TOO_LARGE */
    uint32_t min_rtt_us;   /* smallest round trip time of the path; 0: unknown */
    uint32_t changed_ms;   /* when the window or its pacing changed, of the ticks' clock; wraps */
    uint16_t judged_cwnd;  /* the window within bounds, segments, whose flights `fitting` counts;
                              0: no flight was counted since the last change */
    uint16_t mss_bytes;    /* largest segment size of connections, which fades; 0: unknown */
    uint16_t rate_s;       /* the second up to which per_4s is computed; wraps */
    uint16_t flights;      /* counted since rate_s */
    uint16_t per_4s;       /* flights in MEAN_S seconds, a moving average up to rate_s */
    uint8_t fitting;       /* 0 to `wait` */
    uint8_t wait;          /* before the next raise, flights and seconds; WAIT_MIN to WAIT_MAX */
    uint8_t n_other_paths; /* connections in a row that were on another path */
    bool is_paced;         /* first flights are to be paced */
    bool is_cut;           /* the window was cut at some time */
    bool is_raised;        /* its last change was a raise */
};
static_assert(sizeof(struct careful) <= SMALL_MEMORY_BYTES, "memory is over its budget");

enum flight {
    NO_FLIGHT, /* no evidence */
    LOSSY,
    CLEAN,  /* without losses that count, but it did not fill the window */
    FILLED, /* it filled the window, and fit */
};

/* Which flight of a connection met its losses. */
enum losses { FIRST_FLIGHT, LATER_FLIGHT, UNKNOWN_FLIGHT };

static bool has_ssthresh(const struct riptide_sample *sample)
{
    return sample->ssthresh_segs > 0 && sample->ssthresh_segs < INFINITE_SSTHRESH;
}

/* `once`: segments sent, without retransmissions. */
static enum losses find_losses(const struct riptide_sample *sample, uint64_t once)
{
    const uint64_t window = sample->initcwnd, ssthresh = sample->ssthresh_segs;

    if (!has_ssthresh(sample))
        return once > WINDOWS_WITHOUT * window ? UNKNOWN_FLIGHT : FIRST_FLIGHT;
    /*
     * A loss in the first flight meets a congestion window of less than two of ours. Cubic leaves
     * 0.7 of it in ssthresh, rounded down (RFC 9438, section 4.6). Above 1.4 windows the loss came
     * later.
     */
    if (10 * (ssthresh + 1) > 14 * window)
        return once > TIMES_SSTHRESH * ssthresh ? UNKNOWN_FLIGHT : LATER_FLIGHT;
    return once > WINDOWS_WITH_SSTHRESH * window ? UNKNOWN_FLIGHT : FIRST_FLIGHT;
}

/* What the counters of a connection show about its first flight. */
static enum flight classify(const struct riptide_sample *sample)
{
    const uint64_t window = sample->initcwnd, lost = sample->retrans_segs;
    const uint64_t once = sample->data_segs_out > lost ? sample->data_segs_out - lost : 0;
    const uint64_t first = once < window ? once : window;
    const bool is_whole = once >= window;

    /* Less than half of a window does not show that the window fits. */
    if (window == 0 || !sample->flight_ended || 2 * first < window)
        return NO_FLIGHT;
    /*
     * In slow start the kernel's window grows only where more than half of it was in flight
     * (tcp_is_cwnd_limited in include/net/tcp.h). Otherwise the segments left one after another.
     */
    if (lost == 0)
        return is_whole && sample->cwnd > window ? FILLED : CLEAN;
    switch (find_losses(sample, once)) {
    case LATER_FLIGHT:
        return FILLED;
    case UNKNOWN_FLIGHT:
        return NO_FLIGHT;
    case FIRST_FLIGHT:
        break;
    }
    /*
     * Without ssthresh FIRST_FLIGHT is only a guess, so losses are set against all that was sent.
     */
    if (lost * LOSSY_PART > (has_ssthresh(sample) ? first : once))
        return LOSSY;
    return is_whole ? FILLED : CLEAN;
}

/*
 * The round trips that losses cost a closed connection: its time with data in flight, less what
 * slow start takes for all that it sent, rounded up. Retransmissions are sent as well: so one that
 * sent a window and resent a part of it has a round trip free. A tail that is lost on a short path
 * waits for a timer of many round trips. The cost of an open connection is not known yet, and is 0.
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

/* Brings the rate of flights, and the segment size that fades, to the second of the last tick. */
static void follow_seconds(struct careful *careful, uint64_t now_ns)
{
    const uint16_t passed_s = (uint16_t)(now_ns / NS_PER_S - careful->rate_s);
    const double fade = lesser((double)passed_s / MSS_FADES_S, 0.5);
    double change_per_s;

    if (passed_s == 0)
        return;
    change_per_s = (double)careful->flights / passed_s - careful->per_4s / (double)MEAN_S;
    /* After MEAN_S seconds nothing is left of the former mean. */
    careful->per_4s = (uint16_t)(careful->per_4s + change_per_s * lesser(passed_s, MEAN_S) + 0.5);
    careful->flights = 0;
    careful->rate_s = (uint16_t)(careful->rate_s + passed_s);
    careful->mss_bytes = (uint16_t)(careful->mss_bytes * (1 - fade) + 0.5);
}

/*
 * Flights a second: the mean, or those of the present interval where they are more. An interval_ns
 * of less than a second, also 0 for unknown, is taken as a second.
 */
static double flights_per_s(const struct careful *careful, uint64_t interval_ns)
{
    double interval_s = greater((double)interval_ns / NS_PER_S, 1);

    return greater(careful->per_4s / (double)MEAN_S, careful->flights / interval_s);
}

/* RFC 9959 takes a round trip below half, or above ten times, for another path's. */
static bool is_other_path(uint64_t rtt_us, uint64_t path_us)
{
    bool is_jitter = rtt_us <= JITTER_US && path_us <= JITTER_US;

    return path_us > 0 && !is_jitter && (rtt_us > 10 * path_us || 2 * rtt_us < path_us);
}

/*
 * Forgets all but the rate of flights, and begins with this round trip time; 0: unknown. The window
 * begins anew in the tick.
 */
static void forget(struct careful *careful, uint32_t min_rtt_us)
{
    *careful = (struct careful){ .min_rtt_us = min_rtt_us,
                                 .rate_s = careful->rate_s,
                                 .flights = careful->flights,
                                 .per_4s = careful->per_4s };
}

/*
 * Follows the smallest round trip time of the path. Returns whether the connection is of that path.
 * Where enough connections in a row were on another one, that becomes the path, and all that is
 * known of the former one is forgotten.
 */
static bool follow_rtt(struct careful *careful, const struct riptide_sample *sample)
{
    const uint64_t rtt_us = sample->min_rtt_us;
    const bool is_proxy = rtt_us < PROXY_RTT_US && 10 * rtt_us < careful->min_rtt_us;
    const bool is_other = is_other_path(rtt_us, careful->min_rtt_us);
    const double needed = greater(OTHER_PATH_MIN, OTHER_PATH_S * flights_per_s(careful, 0));

    if (is_proxy)
        return false;
    /* Only its first sample counts: an idle one shows the round trip of a former path for long. */
    if (!sample->shown)
        careful->n_other_paths = is_other ? (uint8_t)(careful->n_other_paths + 1) : 0;
    /* Without a window there is nothing that another path could spoil. */
    if (is_other && careful->cwnd > 0 && careful->n_other_paths < lesser(needed, UINT8_MAX))
        return false;
    if (is_other)
        forget(careful, 0);
    if (careful->min_rtt_us == 0 || rtt_us < careful->min_rtt_us)
        careful->min_rtt_us = sample->min_rtt_us;
    return true;
}

/*
 * Follows the largest segment size. Returns whether the connection's is more than half of it: a
 * flight of small segments tells connections with large ones nothing.
 */
static bool follow_mss(struct careful *careful, const struct riptide_sample *sample)
{
    const uint16_t mss_bytes = (uint16_t)lesser(sample->mss_bytes, ETHERNET_MSS_BYTES);
    const bool is_doubled = careful->mss_bytes > 0 && mss_bytes > 2 * careful->mss_bytes;

    /* What fitted so far were segments of less than half this size. */
    if (is_doubled && careful->cwnd > START_CWND)
        forget(careful, careful->min_rtt_us);
    careful->mss_bytes = (uint16_t)greater(careful->mss_bytes, mss_bytes);
    return 2 * mss_bytes > careful->mss_bytes;
}

static uint32_t age_ms(const struct careful *careful, uint64_t now_ns)
{
    return (uint32_t)(now_ns / 1000000) - careful->changed_ms;
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

/*
 * Whether a flight had the present window. A route keeps its window while the wanted one is within
 * a step of it (window_step). Below 20 segments a raise by an eighth is within that step: then
 * flights of the former window count as those of the raised one.
 */
static bool is_of_window(const struct riptide_policy_input *input,
                         const struct riptide_sample *sample)
{
    return window_is_near(sample->initcwnd, input->cwnd);
}

/* Whether a flight is from before a cut or a change of pacing, and says nothing of the present. */
static bool is_outdated(const struct careful *careful, const struct riptide_policy_input *input,
                        const struct riptide_sample *sample)
{
    const bool is_of_window_now = is_of_window(input, sample);
    const bool is_from_before_a_cut = !is_of_window_now && sample->initcwnd > input->cwnd;
    const bool is_paced_otherwise = sample->paced != careful->is_paced;
    const bool is_changing = age_ms(careful, input->now_ns) < 1000 * WAIT_MIN;

    /*
     * WAIT_MIN seconds after the change a flight of the present window counts, paced or not. Those
     * by a route are never paced, nor those of an application with a pace of its own.
     */
    return is_from_before_a_cut || (is_paced_otherwise && (!is_of_window_now || is_changing));
}

/* The step of `against` for a lossy flight, before it is divided. */
static double lossy_step(const struct careful *careful, const struct riptide_sample *sample)
{
    const double least = careful->is_paced ? STEP_PACED : STEP_AT_ONCE;
    const bool is_rare = careful->flights == 1 && careful->per_4s <= RARE_PER_4S;

    return lesser(greater(is_rare ? 2 * least : least, round_trips_lost(sample)), STEP_MAX);
}

/* How many flights share the queue, this one included: as many as open in SHARED_ROUND_TRIPS. */
static double flights_in_queue(const struct careful *careful, uint64_t interval_ns)
{
    const double flights =
        flights_per_s(careful, interval_ns) * SHARED_ROUND_TRIPS * careful->min_rtt_us / 1e6;

    return greater(flights, 1);
}

static void count_against(struct careful *careful, uint64_t interval_ns,
                          const struct riptide_sample *sample, enum flight flight)
{
    const double step = flight == LOSSY ? lossy_step(careful, sample) : -1;
    const double against = (double)careful->against + step / flights_in_queue(careful, interval_ns);

    /* Steps that were divided add up to a little less than a whole. */
    careful->against = (float)(against > TOO_LARGE - 0.01 ? TOO_LARGE : greater(against, 0));
}

static void count_fitting(struct careful *careful, const struct riptide_policy_input *input,
                          const struct riptide_sample *sample, enum flight flight)
{
    /* A smaller flight that fits does not show that the window fits. One that lost counts. */
    const bool is_smaller = !is_of_window(input, sample) && sample->initcwnd < input->cwnd;
    int fitting = careful->fitting;

    if (flight == LOSSY)
        fitting -= LOSSY_FITTING;
    else if (flight == FILLED && !is_smaller)
        fitting++;
    careful->fitting = (uint8_t)lesser(greater(fitting, 0), careful->wait);
}

/* Counts a flight for or against the present window. */
static void judge(struct careful *careful, const struct riptide_policy_input *input,
                  const struct riptide_sample *sample, enum flight flight)
{
    /* is_outdated reads changed_ms, which begin_judging may set below. */
    const bool says_nothing = is_outdated(careful, input, sample);

    /* A hint or another bound has changed the window. */
    if (careful->judged_cwnd > 0 && careful->judged_cwnd != input->cwnd)
        begin_judging(careful, input->now_ns);
    careful->judged_cwnd = (uint16_t)input->cwnd;
    /* The bound keeps per_4s, which is MEAN_S times the flights of a second, within 16 bits. */
    careful->flights = (uint16_t)lesser(careful->flights + 1, UINT16_MAX / MEAN_S);
    /* The tick will lower a window that is too large, whatever other flights show until then. */
    if (says_nothing || careful->against >= TOO_LARGE)
        return;
    count_against(careful, input->interval_ns, sample, flight);
    count_fitting(careful, input, sample, flight);
}

static enum riptide_left_out careful_add(const struct riptide_policy_input *input, void *memory,
                                         const struct riptide_sample *sample)
{
    struct careful *careful = memory;
    const enum riptide_left_out reason = evidence_check(sample);
    enum flight flight;

    if (sample->min_rtt_us == 0 || reason == RIPTIDE_LEFT_OUT_UNUSED)
        return reason;
    follow_seconds(careful, input->now_ns);
    if (!follow_rtt(careful, sample) || !follow_mss(careful, sample))
        return RIPTIDE_LEFT_OUT_UNMEASURED;
    flight = classify(sample);
    /* While windows are off for the destination, or not there yet, none is judged. */
    if (flight == NO_FLIGHT || careful->cwnd == 0 || input->cwnd == 0)
        return reason;
    judge(careful, input, sample, flight);
    /* It counts by its first flight, also where it is idle by now. */
    return RIPTIDE_LEFT_OUT_NOT;
}

/* The window begins, or begins anew. */
static void begin(struct careful *careful, const struct riptide_policy_input *input)
{
    careful->cwnd = (float)greater(START_CWND, input->base_cwnd);
    careful->wait = WAIT_MIN;
    begin_judging(careful, input->now_ns);
}

/* The window had grown by paced flights. Of flights that leave at once nothing is known. */
static void end_pacing(struct careful *careful, const struct riptide_policy_input *input)
{
    careful->cwnd = (float)lesser((double)careful->cwnd, START_CWND);
    careful->is_paced = false;
    careful->is_raised = false;
    careful->against = 0;
    begin_judging(careful, input->now_ns);
}

static void cut_window(struct careful *careful, const struct riptide_policy_input *input)
{
    /* Flights of the window within bounds lost. A base route may hold it above careful->cwnd. */
    const double failed = input->cwnd, before = greater((double)careful->cwnd, failed);
    /*
     * No paced window is cut below START_CWND: smaller flights lose as much to other traffic
     * (docs/policies.md has the figures).
     */
    const double min = careful->is_paced ? START_CWND : input->config->cwnd_min;

    /* A window that is below the minimum already, by a hint, is not raised by a cut. */
    careful->cwnd = (float)lesser(before, greater(failed * cut, min));
    careful->wait = (uint8_t)lesser(2 * careful->wait, WAIT_MAX);
    careful->is_cut = true;
}

/* Paces flights that left at once. Where they are paced, or cannot be, it cuts the window. */
static void lower(struct careful *careful, const struct riptide_policy_input *input, bool can_pace)
{
    if (!careful->is_paced && can_pace) {
        careful->is_paced = true;
        careful->wait = WAIT_MIN;
    } else {
        cut_window(careful, input);
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
    /* A bound holds the window below careful->cwnd, which is raised already. */
    if (next <= (double)careful->cwnd)
        return;
    careful->cwnd = (float)lesser(next, RIPTIDE_CWND_LIMIT);
    if (careful->is_raised && careful->wait > WAIT_MIN)
        careful->wait /= 2;
    careful->is_raised = true;
    begin_judging(careful, input->now_ns);
}

static double careful_combine(const struct riptide_policy_input *input, void *memory)
{
    struct careful *careful = memory;
    const uint32_t window_age_ms = age_ms(careful, input->now_ns);
    const bool is_old = !careful->is_cut && window_age_ms >= OLD_MS;
    const uint32_t needed = is_old ? WAIT_WHEN_OLD : careful->wait;
    const bool is_raise_due = careful->fitting >= needed && window_age_ms >= 1000 * needed;
    const bool is_too_large = careful->against >= TOO_LARGE && input->cwnd > 0;
    const bool can_pace = input->can_pace && careful->min_rtt_us >= PACING_RTT_MIN_US;

    if (careful->cwnd == 0)
        begin(careful, input);
    else if (careful->is_paced && !can_pace)
        end_pacing(careful, input);
    else if (is_too_large)
        lower(careful, input, can_pace);
    else if (is_raise_due)
        raise(careful, input);
    return (double)careful->cwnd;
}

/* The loaded window stays until flights show the contrary: it was proven, or is one raise above. */
static void careful_restore(const struct riptide_policy_input *input, void *memory,
                            const struct riptide_estimate *loaded)
{
    *(struct careful *)memory = (struct careful){
        .cwnd = (float)loaded->smoothed,
        .min_rtt_us = loaded->min_rtt_us,
        .wait = WAIT_MIN,
        .is_paced = loaded->pacing_percent == 100,
        /* No window begins below START_CWND. So one that is below it was cut. */
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
