/* SPDX-License-Identifier: MIT */
/*
 * A round, from its timer to its last route, and what its closed connections decide: whether
 * windows are suspended, and how many connections are held out.
 */
#include "parts.h"
#include "prefix.h"

#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* Bounds of one dispatch, so that 10,000 windows at once do not delay the caller's loop. */
enum {
    MAX_HANDED = 256,   /* windows handed to the applier */
    MAX_DROPPED = 4096, /* outcomes of the applier that nobody pops */
};

int round_arm(struct riptide_agent *agent)
{
    /* A time that has passed, as 1 has, makes the fd readable at once. */
    uint64_t at_ns = agent->round == ROUND_HANDING ? 1 : agent->next_ns;
    const struct itimerspec at = { .it_value = { .tv_sec = (time_t)(at_ns / NS_PER_S),
                                                 .tv_nsec = (long)(at_ns % NS_PER_S) } };

    if (at_ns == agent->armed_ns)
        return 0;
    if (timerfd_settime(agent->timer_fd, TFD_TIMER_ABSTIME, &at, NULL) < 0)
        return -errno;
    agent->armed_ns = at_ns;
    return 0;
}

/* This round's dump has ended: its cost determines the beginning of the next one. */
static void end_observing(struct riptide_agent *agent, bool is_complete)
{
    agent->next_ns -= agent->interval.current_ns;
    interval_update(&agent->interval, agent->tick.observe_cpu_ns, is_complete);
    agent->next_ns += agent->interval.current_ns;
    agent->tick.interval_ns = agent->interval.current_ns;
    /* In each round, as AUTO chooses at the start, and a detached program paces nothing. */
    riptide_estimator_tick(agent->estimator, read_clock(CLOCK_BOOTTIME),
                           agent_applier_stats(agent).can_pace);
    agent->round = ROUND_HANDING;
}

/* An error that passes is an event: the round goes on to its end, and the next one tries again. */
static void note_failure(struct riptide_agent *agent, const char *what, int error)
{
    agent->failure.what = what;
    agent->failure.error = error;
}

static void note_unread(struct riptide_agent *agent, int error)
{
    bool is_hidden = error == -EACCES || error == -EPERM;

    note_failure(agent,
                 is_hidden ? "the sockets are hidden from this user"
                           : "the open connections cannot be read",
                 error);
}

/*
 * Ends the dump of a round, which was given up. The samples that it brought count, and destinations
 * expire as always.
 */
static void give_up_dump(struct riptide_agent *agent, int error)
{
    note_unread(agent, error);
    end_observing(agent, false);
}

static void note_withdrawn(struct riptide_agent *agent, const struct riptide_estimate *estimate)
{
    const uint32_t room = sizeof(agent->withdrawn) / sizeof(agent->withdrawn[0]);

    agent->withdrawn[agent->n_withdrawn++ % room] =
        (struct withdrawn){ .dst = estimate->dst, .reason = estimate->reason };
}

/* Hands over a part of the computed windows in each dispatch; the applier writes them. */
static void hand_over(struct riptide_agent *agent)
{
    int r;

    for (int i = 0; i < MAX_HANDED; i++) {
        const struct riptide_estimate *estimate;
        struct riptide_wanted wanted;

        if (riptide_estimator_pop(agent->estimator, &estimate) != 0) {
            agent->round = ROUND_APPLYING;
            return;
        }
        if (estimate->cwnd == 0)
            note_withdrawn(agent, estimate);
        wanted = (struct riptide_wanted){
            .dst = estimate->dst,
            .may_lower = estimate->may_lower,
            .initcwnd = estimate->cwnd,
            .cwnd_max = estimate->cwnd_max,
            .base_cwnd = estimate->base_cwnd,
            .rto_min_us = estimate->rto_min_us,
            .pmtu_bytes = estimate->pmtu_bytes,
            .pacing_percent = estimate->pacing_percent,
            .rtt_us = estimate->min_rtt_us,
        };
        r = riptide_applier_set(agent->applier, &wanted);
        if (r < 0) {
            /* In this round memory may be as short again: it waits for the next one. */
            riptide_estimator_unpop(agent->estimator);
            note_failure(agent, "windows wait for the next round", r);
            agent->round = ROUND_APPLYING;
            return;
        }
        agent->overflow += r == RIPTIDE_E_FULL;
    }
}

/*
 * Pops outcomes of the applier for a caller that pops nothing, as windows of base routes reach the
 * estimator by them. A caller that pops does so before the next round.
 */
static void drop_unpopped(struct riptide_agent *agent)
{
    const struct riptide_route *route;

    for (int i = 0; i < MAX_DROPPED && !agent->is_popped; i++) {
        if (agent_pop_route(agent, &route) != 0)
            break;
    }
    agent->is_popped = false;
}

/*
 * Judges the outcomes entered since the last round, before connections of this one are added:
 * suspends windows where they do harm, and sets the share held out.
 */
static void judge_outcomes(struct riptide_agent *agent, uint64_t now_ns)
{
    struct experiment *experiment = &agent->experiment;

    if (experiment->holdout_percent > 0) {
        if (experiment_judge(experiment, now_ns) != SUSPENSION_SAME)
            agent_apply_pause(agent);
        riptide_applier_set_holdout(agent->applier, phase_percent(experiment, experiment->phase),
                                    experiment->phase);
    }
}

/*
 * The processor time since it was cpu_ns, at most the time since began_ns: kernels without a fine
 * clock count in ticks of 10 ms, even for very short work.
 */
static uint64_t cpu_ns_since(uint64_t cpu_ns, uint64_t began_ns)
{
    cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
    return (uint64_t)lesser((double)cpu_ns, (double)(read_clock(CLOCK_BOOTTIME) - began_ns));
}

/*
 * Starts a dump. With a scope most of its cost is here, as the kernel walks until a buffer is full.
 */
static void start_dump(struct riptide_agent *agent)
{
    uint64_t cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID), began_ns = read_clock(CLOCK_BOOTTIME);
    int r = riptide_observer_start(agent->observer);

    agent->tick.observe_cpu_ns += cpu_ns_since(cpu_ns, began_ns);
    /* Where the kernel is busy it is asked again an interval later. */
    if (r < 0 && r != -EBUSY)
        give_up_dump(agent, r);
}

static void begin_round(struct riptide_agent *agent, uint64_t now_ns)
{
    agent->tick = agent->next;
    agent->tick.started_ns = now_ns;
    agent->next = (struct riptide_tick){ 0 };
    drop_unpopped(agent);
    judge_outcomes(agent, now_ns);
    agent->round = ROUND_OBSERVING;
    start_dump(agent);
}

/*
 * Counts a closed connection, and enters its outcome where it was drawn to an arm. The round trip
 * time of its path is the one from before this sample, whose own depends on its arm.
 */
static void enter_closed(struct riptide_agent *agent, const struct riptide_sample *sample)
{
    struct experiment *experiment = &agent->experiment;
    struct riptide_estimate before = { .cwnd = 0 };
    enum outcome_entry entry = OUTCOME_WITHOUT;
    struct outcome outcome;

    riptide_estimator_find(agent->estimator, &sample->dst, &before);
    if (sample->initcwnd > 0)
        agent->closed_with_window++;
    else if (sample->arm == RIPTIDE_ARM_NONE && before.cwnd > 0 &&
             riptide_backend_traits(agent->backend) & RIPTIDE_REACHES_KERNEL)
        agent->closed_without++;
    if (experiment->holdout_percent == 0 || (sample->arm == RIPTIDE_ARM_NONE && before.cwnd == 0))
        return;
    if (sample->arm != RIPTIDE_ARM_NONE)
        entry = outcome_of(&outcome, sample, before.min_rtt_us);
    if (entry == OUTCOME_COUNTS)
        experiment_enter(experiment, sample, &outcome);
    experiment->entries[entry]++;
}

/*
 * Counts a sample in the round if the estimator has taken it, and each connection once. The
 * estimator itself counts invalid samples, and those that it has no place for.
 */
static void count_sample(struct riptide_tick *tick, const struct riptide_sample *sample,
                         int outcome)
{
    bool is_shown_before = sample->closed && sample->shown;

    tick->samples += (outcome == 0 || outcome == RIPTIDE_E_LEFT_OUT) && !is_shown_before;
}

RIPTIDE_PUBLIC int riptide_agent_add(struct riptide_agent *agent,
                                     const struct riptide_sample *sample)
{
    int r = can_act(agent->pid, agent->round == ROUND_STOPPED, NULL);

    if (r < 0)
        return r;
    /* Scopes decide about hosts only. The estimator refuses and counts an address that is none. */
    if (prefix_is_valid_host(&sample->dst) && !riptide_observer_matches(agent->observer, sample))
        return RIPTIDE_E_UNKNOWN;
    r = riptide_estimator_add(agent->estimator, sample);
    count_sample(agent->round == ROUND_OBSERVING ? &agent->tick : &agent->next, sample, r);
    return r;
}

/*
 * Adds all samples of one buffer, a few at a time: the next ones are read while the destinations of
 * the last ones are fetched into the caches, from which the kernel's walk has evicted them.
 * Returns whether it ended the dump.
 */
static bool add_buffer(struct riptide_agent *agent, struct riptide_tick *tick, uint64_t now_ns)
{
    struct riptide_sample samples[RIPTIDE_POPPED_SAMPLES];
    int outcomes[RIPTIDE_POPPED_SAMPLES], popped, r;
    const struct riptide_sample *sample;
    size_t n = 0;

    do {
        popped = riptide_observer_pop(agent->observer, &sample);
        if (popped == 0) {
            samples[n] = *sample;
            if (++n < RIPTIDE_POPPED_SAMPLES)
                continue;
        }
        riptide_applier_annotate(agent->applier, now_ns, samples, n);
        for (size_t i = 0; i < n; i++) {
            if (samples[i].closed)
                enter_closed(agent, &samples[i]);
        }
        r = riptide_estimator_add_all(agent->estimator, samples, n, outcomes);
        /* The others of the buffer may fit, and its end is that of the dump. */
        if (r < 0)
            note_failure(agent, "some connections do not count", r);
        for (size_t i = 0; r == 0 && i < n; i++)
            count_sample(tick, &samples[i], outcomes[i]);
        n = 0;
    } while (popped == 0);
    return popped == RIPTIDE_E_DONE;
}

void round_on_observer(struct riptide_agent *agent)
{
    bool is_dump = agent->round == ROUND_OBSERVING;
    struct riptide_tick *tick = is_dump ? &agent->tick : &agent->next;
    uint64_t cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID), began_ns = read_clock(CLOCK_BOOTTIME);
    int r = riptide_observer_dispatch(agent->observer);
    bool is_complete = r >= 0 && add_buffer(agent, tick, began_ns);

    if (is_dump)
        tick->observe_cpu_ns += cpu_ns_since(cpu_ns, began_ns);
    if (r < 0 && is_dump)
        give_up_dump(agent, r);
    else if (r < 0)
        note_unread(agent, r);
    else if (is_complete)
        end_observing(agent, true);
}

int round_on_applier(struct riptide_agent *agent)
{
    int r = riptide_applier_dispatch(agent->applier);

    if (r < 0 && is_transient(r)) {
        note_failure(agent, "the kernel takes no changes for now", r);
        r = 0;
    }
    /* After an error the applier tries again each second: no round waits for that. */
    if (agent->round != ROUND_APPLYING || r > 0)
        return r;
    agent->tick.finished_ns = read_clock(CLOCK_BOOTTIME);
    agent->finished = agent->tick;
    agent->is_tick_news = true;
    agent->round = ROUND_WAITING;
    return r;
}

int round_on_timer(struct riptide_agent *agent)
{
    uint64_t n_expirations, now_ns = read_clock(CLOCK_BOOTTIME);

    if (agent->round == ROUND_HANDING) {
        hand_over(agent);
        return agent->round == ROUND_APPLYING ? round_on_applier(agent) : 0;
    }
    if (read(agent->timer_fd, &n_expirations, sizeof(n_expirations)) < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    /* The next round begins one interval after this one began; missed rounds are skipped. */
    agent->next_ns += agent->interval.current_ns;
    if (agent->next_ns <= now_ns)
        agent->next_ns = now_ns + agent->interval.current_ns;
    /*
     * If a round takes longer than the interval, no other one begins; a dump for which the kernel
     * was busy is requested again, and one that the kernel does not continue is given up.
     */
    if (agent->round == ROUND_WAITING)
        begin_round(agent, now_ns);
    else if (agent->round == ROUND_OBSERVING)
        start_dump(agent);
    return 0;
}
