/* SPDX-License-Identifier: MIT */
/*
 * A round from its timer to its last route.
 */
#include "agent/parts.h"

#include "apply/router.h"
#include "compute/estimator.h"
#include "compute/evidence.h"

#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* Of 10,000 windows at once, a host's loop is to notice nothing. */
enum { MAX_HANDED = 256 };

/* Of Ethernet without options: what peers send, where it is not known when a connection opens. */
enum { PEER_MSS_BYTES = 1460 };

static uint64_t now(void)
{
    return read_clock(CLOCK_BOOTTIME);
}

/* While there is something to hand over its fd is readable, until the time is set again. */
static int arm(const struct riptide_agent *agent)
{
    uint64_t at_ns = agent->phase == PHASE_HANDING ? 1 : agent->next_ns;
    const struct itimerspec at = { .it_value = { .tv_sec = (time_t)(at_ns / NS_PER_S),
                                                 .tv_nsec = (long)(at_ns % NS_PER_S) } };

    return timerfd_settime(agent->timer_fd, TFD_TIMER_ABSTIME, &at, NULL) < 0 ? -errno : 0;
}

static int set_timer(struct riptide_agent *agent, uint64_t at_ns)
{
    agent->next_ns = at_ns;
    return arm(agent);
}

int round_first(struct riptide_agent *agent)
{
    return set_timer(agent, now());
}

/* The next round begins one interval after this one did; rounds that were missed are not made up.
 */
static int schedule(struct riptide_agent *agent, uint64_t now_ns)
{
    uint64_t next_ns = agent->next_ns + agent->interval.current_ns;

    return set_timer(agent, next_ns > now_ns ? next_ns : now_ns + agent->interval.current_ns);
}

/* The dump of this round has ended: what it cost moves the beginning of the next one. */
static int adapt(struct riptide_agent *agent, bool is_complete)
{
    uint64_t before_ns = agent->interval.current_ns;

    interval_update(&agent->interval, agent->tick.observe_cpu_ns, is_complete);
    if (agent->interval.current_ns == before_ns)
        return 0;
    return set_timer(agent, agent->next_ns - before_ns + agent->interval.current_ns);
}

static int end_observing(struct riptide_agent *agent, uint64_t now_ns)
{
    riptide_estimator_tick(agent->estimator, now_ns);
    agent->tick.interval_ns = agent->interval.current_ns;
    agent->tick.observe_mean_ns = agent->interval.mean_ns;
    agent->phase = PHASE_HANDING;
    return arm(agent);
}

/* A part of what was computed, in each dispatch. */
static int hand_over(struct riptide_agent *agent)
{
    for (int i = 0; i < MAX_HANDED; i++) {
        const struct riptide_estimate *estimate;
        const struct watched *watched;
        struct riptide_wanted wanted;
        int r;

        if (!agent->in_hand && riptide_estimator_pop(agent->estimator, &agent->in_hand) != 0) {
            agent->phase = PHASE_APPLYING;
            return arm(agent);
        }
        estimate = agent->in_hand;
        watched = watch_find(&agent->outcomes.watch, &estimate->dst);
        wanted = (struct riptide_wanted){
            .dst = estimate->dst,
            .may_lower = estimate->may_lower,
            .initcwnd = watched_is_back(watched) ? 0 : estimate->cwnd,
            .cwnd_max = estimate->cwnd_max,
            .base_cwnd = estimate->base_cwnd,
            .rto_min_us = estimate->rto_min_us,
            .pmtu_bytes = estimate->pmtu_bytes,
            .pacing_percent = estimate->pacing_percent,
            .rtt_us = estimate->min_rtt_us,
            .receive_bytes = estimate->receive_window == RIPTIDE_RECEIVE_OFF
                                 ? 0
                                 : estimate->cwnd_max * PEER_MSS_BYTES,
        };
        r = backends_set(&agent->backends, &wanted);
        /* Where the backend has no memory it stays in hand. */
        if (r < 0)
            return r;
        agent->in_hand = NULL;
        agent->tick.changes += r == 0;
        agent->tick.overflow += r == RIPTIDE_E_FULL;
    }
    return 0;
}

static void forget_samples(struct riptide_tick *tick)
{
    tick->closed_lost += tick->closed;
    tick->samples = tick->closed = tick->overflow = 0;
}

/*
 * Forgets what the dump has brought. The estimator keeps no connection, so those that closed since
 * the last round go with it, unless the dump had brought none yet.
 */
static void discard(struct riptide_agent *agent)
{
    struct riptide_tick *tick = &agent->tick;

    if (!agent->has_dumped)
        return;
    riptide_estimator_discard(agent->estimator);
    agent->has_dumped = false;
    forget_samples(tick);
}

/* A dump that was given up costs one round. What is due to expire expires all the same. */
static int give_up_round(struct riptide_agent *agent, int error, uint64_t now_ns)
{
    int r;

    discard(agent);
    agent->failure = error;
    r = adapt(agent, false);
    return r < 0 ? r : end_observing(agent, now_ns);
}

/* AUTO has chosen by now; and a program that somebody has detached paces nothing. */
static uint32_t pacing_rtt_min_us(const struct riptide_agent *agent)
{
    const struct riptide_agent_config *config = &agent->stages.agent;
    const struct connections *connections = agent->backends.connections;

    if (!connections || config->pacing_percent == 0 || !connections_can_pace(connections))
        return agent->stages.estimator.pacing_rtt_min_us;
    return config->pacing_rtt_min_us > 0 ? config->pacing_rtt_min_us : 1;
}

/* What opens without a window of ours says nothing of it. */
static void wait_for_flights(struct riptide_agent *agent)
{
    const struct backends *backends = &agent->backends;
    struct outcomes *outcomes = &agent->outcomes;
    bool is_off =
        backends->chosen == RIPTIDE_CONNECTIONS && connections_get_reason(backends->connections);

    if (is_off || outcomes->harm.until_ns > 0 || backends->is_paused)
        outcomes->flights_wait = FLIGHTS_WAIT;
    else
        outcomes->flights_wait -= outcomes->flights_wait > 0;
    agent->estimator->gives_none = outcomes->flights_wait > 0;
    agent->estimator->shares = arm_shares_of(&outcomes->arms);
    agent->estimator->arms_seed = outcomes->arms.seed;
    agent->estimator->again_price = agent->stages.agent.again_price;
}

static int begin_round(struct riptide_agent *agent, uint64_t now_ns)
{
    uint64_t late_ns = now_ns > agent->next_ns ? now_ns - agent->next_ns : 0;
    int r = schedule(agent, now_ns);

    if (r < 0)
        return r;
    agent->tick = agent->next;
    agent->tick.started_ns = now_ns;
    agent->tick.late_ns = late_ns;
    agent->next = (struct riptide_tick){ 0 };
    agent->has_dumped = false;
    step_back_where_harm_is(agent, now_ns);
    wait_for_flights(agent);
    agent->estimator->config.pacing_rtt_min_us = pacing_rtt_min_us(agent);
    agent->phase = PHASE_OBSERVING;
    r = riptide_observer_start(agent->observer);
    return r < 0 ? give_up_round(agent, r, now_ns) : 0;
}

void round_restart(struct riptide_agent *agent)
{
    uint64_t now_ns = now(), at_ns = now_ns + agent->interval.current_ns;

    agent->has_dumped = false;
    forget_samples(&agent->next);
    if (agent->phase == PHASE_OBSERVING) {
        forget_samples(&agent->tick);
        agent->next.closed_lost += agent->tick.closed_lost;
        agent->phase = PHASE_WAITING;
        at_ns = now_ns;
    }
    /* Of a timer that is ours the kernel refuses no time. */
    if (agent->next_ns != RIPTIDE_NEVER_NS && agent->next_ns > at_ns)
        set_timer(agent, at_ns);
}

/* Samples that make no sense are counted by the estimator. */
static void count_sample(struct riptide_tick *tick, const struct riptide_sample *sample,
                         int outcome)
{
    tick->samples += outcome == 0;
    tick->closed += outcome == 0 && sample->closed;
    tick->overflow += outcome == RIPTIDE_E_FULL;
}

static void count_flight(struct first_flights *flights, const struct riptide_sample *sample,
                         uint32_t cwnd)
{
    uint32_t segs = evidence_segs_sent_once(sample);

    if (segs == 0 || segs > 2 * cwnd)
        return;
    flights->segs += segs;
    flights->again_segs += sample->retrans_segs;
}

/* Before this one, whose own depends on its arm; 0: not known. A policy's is asked for each round. */
static uint32_t path_rtt_us_of(const struct riptide_agent *agent, struct watched *watched,
                               const struct riptide_sample *sample)
{
    uint32_t path_rtt_us = watched->path_rtt_us;

    if (path_rtt_us == 0)
        path_rtt_us = estimator_min_rtt_us(agent->estimator, &watched->dst);
    watched->path_rtt_us = sample->min_rtt_us - 1 < path_rtt_us - 1 ? sample->min_rtt_us : path_rtt_us;
    return path_rtt_us;
}

/*
 * Into the books, and of trials to what moves windows. Most ends are of connections that no window
 * can have moved: these leave at once. Without a window of ours all arms have started alike. What
 * counts for ladders is the same whichever rung the window is on.
 */
static void enter(struct riptide_agent *agent, const struct riptide_sample *sample, enum arm arm,
                  uint32_t cwnd)
{
    const struct arm_config *arms = &agent->outcomes.arms;
    uint32_t smaller_cwnd = arms->holdout_percent > 0 && cwnd > KERNEL_CWND
                                ? KERNEL_CWND
                                : arm_cwnd(ARM_SMALLER, cwnd, 0);
    enum book_entry entry;
    struct watched *watched;
    struct riptide_prefix dst;
    struct outcomes *outcomes = &agent->outcomes;
    struct book_line line;
    uint32_t path_rtt_us;

    if (sample->acked_bytes <= (uint64_t)KERNEL_CWND * sample->mss_bytes) {
        outcomes->left_out[arm][BOOK_SMALL]++;
        return;
    }
    riptide_estimator_group(agent->estimator, &sample->dst, &dst);
    watched = watch_get(&outcomes->watch, &dst, agent->tick.started_ns);
    path_rtt_us = watched ? path_rtt_us_of(agent, watched, sample) : 0;
    if (arms->trial_percent > 0 && arm != ARM_HOLDOUT &&
        book_judge(sample, path_rtt_us, KERNEL_CWND) == BOOK_ENTERED)
        estimator_enter(agent->estimator, sample, arm, cwnd);
    entry = book_line_of(&line, outcomes->control, sample, path_rtt_us, smaller_cwnd);
    if (entry != BOOK_ENTERED) {
        outcomes->left_out[arm][entry]++;
        return;
    }
    books_put(outcomes->books, arm, &line);
    books_put(outcomes->recent, arm, &line);
    outcomes->n_recent++;
    if (watched)
        watched_enter(watched, arm, sample);
}

static int add_all(struct riptide_agent *agent, struct riptide_tick *tick,
                   const struct riptide_sample *const *samples, size_t n)
{
    const struct riptide_agent_config *config = &agent->stages.agent;
    struct outcomes *shown = &agent->outcomes;
    const struct arm_shares shares = arm_shares_of(&shown->arms);
    bool has_books = shown->books && shown->wait == 0;
    uint16_t cwnds[RIPTIDE_POPPED_SAMPLES];
    int outcomes[RIPTIDE_POPPED_SAMPLES];
    int r;

    for (size_t i = 0; config->on_sample && i < n; i++) {
        if (!samples[i]->shown)
            config->on_sample(config->user, samples[i]);
    }
    agent->estimator->input.now_ns = now();
    r = riptide_estimator_add_all(agent->estimator, samples, n, outcomes, cwnds);
    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++) {
        if (samples[i]->closed && cwnds[i] > 0) {
            enum arm arm = arm_of(samples[i]->cookie, shown->arms.seed, &shares);

            if (shown->flights_wait == 0)
                count_flight(&shown->flights[arm], samples[i], cwnds[i]);
            if (has_books)
                enter(agent, samples[i], arm, cwnds[i]);
        }
        count_sample(tick, samples[i], outcomes[i]);
        agent->has_dumped |= !samples[i]->closed;
    }
    return 0;
}

int round_add(struct riptide_agent *agent, const struct riptide_sample *sample)
{
    int r;

    agent->estimator->input.now_ns = now();
    r = riptide_scope_matches(agent->estimator->scope, sample)
            ? riptide_estimator_add(agent->estimator, sample)
            : RIPTIDE_E_UNKNOWN;
    count_sample(agent->phase == PHASE_OBSERVING ? &agent->tick : &agent->next, sample, r);
    return r;
}

/*
 * All samples of one buffer, a few at a time: the next ones are read while the destinations of the
 * last ones, which the kernel's own walk has driven out of the caches, come back. Outcome:
 * RIPTIDE_E_DONE.
 */
static int add_buffer(struct riptide_agent *agent, struct riptide_tick *tick)
{
    const struct riptide_sample *samples[RIPTIDE_POPPED_SAMPLES];
    size_t n = 0;
    int popped, r;

    do {
        popped = riptide_observer_pop(agent->observer, &samples[n]);
        if (popped == 0 && ++n < RIPTIDE_POPPED_SAMPLES)
            continue;
        r = add_all(agent, tick, samples, n);
        n = 0;
        if (r < 0)
            return r;
        if (popped == RIPTIDE_E_RESTARTED)
            discard(agent);
    } while (popped == 0 || popped == RIPTIDE_E_RESTARTED);
    return popped == RIPTIDE_E_DONE ? popped : 0;
}

int round_on_observer(struct riptide_agent *agent)
{
    bool is_dump = agent->phase == PHASE_OBSERVING;
    struct riptide_tick *tick = is_dump ? &agent->tick : &agent->next;
    uint64_t began_ns = now(), cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID), elapsed_ns;
    int dispatched = riptide_observer_dispatch(agent->observer), added = 0, r;

    if (dispatched >= 0)
        added = add_buffer(agent, tick);
    cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
    elapsed_ns = now() - began_ns;
    /* Kernels without a fine clock count in ticks of 10 ms, however little was done in one. */
    cpu_ns = cpu_ns < elapsed_ns ? cpu_ns : elapsed_ns;
    *(is_dump ? &tick->observe_cpu_ns : &tick->closed_cpu_ns) += cpu_ns;
    if (dispatched < 0 && is_dump)
        return give_up_round(agent, dispatched, now());
    if (dispatched < 0 || added < 0)
        return dispatched < 0 ? dispatched : added;
    if (added != RIPTIDE_E_DONE)
        return 0;
    r = adapt(agent, true);
    return r < 0 ? r : end_observing(agent, now());
}

void round_end_if_applied(struct riptide_agent *agent)
{
    if (agent->phase != PHASE_APPLYING || !backends_are_idle(&agent->backends))
        return;
    agent->tick.destinations = agent->estimator->n_windows;
    agent->tick.finished_ns = now();
    agent->finished = agent->tick;
    agent->is_tick_news = true;
    agent->phase = PHASE_WAITING;
}

int round_on_timer(struct riptide_agent *agent)
{
    uint64_t n_expirations, now_ns = now();
    int r;

    if (agent->phase == PHASE_HANDING)
        return hand_over(agent);
    if (read(agent->timer_fd, &n_expirations, sizeof(n_expirations)) < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    backends_check(&agent->backends, agent->interval.current_ns);
    /*
     * A round that takes longer than the interval is not overtaken by the next one; a dump that the
     * kernel was too busy for is asked for again, and one that it has forgotten is given up.
     */
    if (agent->phase == PHASE_WAITING)
        return begin_round(agent, now_ns);
    r = schedule(agent, now_ns);
    if (r < 0 || agent->phase != PHASE_OBSERVING)
        return r;
    r = riptide_observer_start(agent->observer);
    return r < 0 && r != -EBUSY ? give_up_round(agent, r, now_ns) : 0;
}
