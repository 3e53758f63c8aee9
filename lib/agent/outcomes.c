/* SPDX-License-Identifier: MIT */
/* Outcomes of closed connections, and what they decide: shares held out, suspension. */
#include "agent/parts.h"

#include "apply/applier.h"
#include "compute/estimator.h"

/* Rounds until first flights are judged again: older connections had no window. */
enum { FLIGHTS_WAIT = 3 };

void outcomes_begin_round(struct riptide_agent *agent, uint64_t now_ns)
{
    struct experiment *experiment = &agent->experiment;

    if (experiment->holdout_percent > 0) {
        if (experiment_judge(experiment, now_ns) != SUSPENSION_SAME)
            agent_apply_pause(agent);
        applier_set_holdout(agent->applier, ARM_SHARE(phase_percent(experiment, experiment->phase)),
                            experiment->phase);
        /* The share of the first phase in both: some that have opened in it are still open. */
        agent->estimator->holdout = ARM_SHARE(experiment->holdout_percent);
        agent->estimator->arms_seed = experiment->seed;
    }
    /* Connections that open without our window show nothing about it. */
    if (experiment->suspension.until_ns > 0 || agent->is_paused ||
        (agent->backend == RIPTIDE_PROGRAM && riptide_agent_read_applier(agent).program_reason))
        agent->flights_wait = FLIGHTS_WAIT;
    else if (agent->flights_wait > 0)
        agent->flights_wait--;
    agent->estimator->gives_none = agent->flights_wait > 0;
}

/* Most closed connections do not count and return early. */
static enum outcome_entry enter(struct riptide_agent *agent, const struct riptide_sample *sample,
                                struct opened opened)
{
    struct riptide_estimate path = { .min_rtt_us = 0 };
    enum outcome_entry entry;
    struct outcome outcome;

    if (sample->acked_bytes <= (uint64_t)KERNEL_CWND * sample->mss_bytes)
        return OUTCOME_SMALL;
    /* Without this sample, whose own time depends on its arm: the policy has it after the tick. */
    riptide_estimator_find(agent->estimator, &sample->dst, &path);
    entry = outcome_of(&outcome, sample, path.min_rtt_us);
    if (entry == OUTCOME_COUNTS)
        experiment_enter(&agent->experiment, opened, &outcome, &sample->dst);
    return entry;
}

void outcomes_enter(struct riptide_agent *agent, const struct riptide_sample *sample, uint32_t cwnd)
{
    struct experiment *experiment = &agent->experiment;
    struct opened opened = { ARM_WINDOW, HOLDOUT_FIRST };
    bool is_on = experiment->holdout_percent > 0;
    bool is_noted = is_on && applier_find_opened(agent->applier, sample->cookie, true, &opened);
    bool is_given = !is_on && cwnd > 0 && agent->flights_wait == 0 &&
                    (agent->backend != RIPTIDE_ROUTES ||
                     applier_has_route(agent->applier, &sample->dst));

    if (is_noted ? opened.arm == ARM_WINDOW : is_given)
        agent->closed_with_window++;
    if (is_noted)
        experiment->entries[enter(agent, sample, opened)]++;
    else if (is_on && cwnd > 0)
        experiment->entries[OUTCOME_WITHOUT]++;
}
