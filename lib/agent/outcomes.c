/* SPDX-License-Identifier: MIT */
/* Outcomes of closed connections, and what they decide: shares held out, suspension. */
#include "agent/parts.h"

#include "apply/applier.h"
#include "compute/estimator.h"

#include <stdlib.h>

void outcomes_begin(struct riptide_agent *agent)
{
    const struct riptide_applier_config *config = &agent->stages.applier;
    struct outcomes *outcomes = &agent->outcomes;
    /* Where only routes give windows no connection can be drawn. */
    bool has_draws =
        agent->backend != RIPTIDE_ROUTES && config->holdout_percent > 0 && !config->dry_run;

    if (has_draws == (outcomes->experiment != NULL))
        return;
    free(outcomes->experiment);
    /* Without memory for outcomes windows are given all the same. */
    outcomes->experiment = has_draws ? calloc(1, sizeof(*outcomes->experiment)) : NULL;
    if (!outcomes->experiment)
        return;
    outcomes->experiment->arms = (struct arm_config){ .holdout_percent = config->holdout_percent,
                                                      .seed = config->holdout_seed };
    outcomes->experiment->since_s = read_clock(CLOCK_REALTIME) / NS_PER_S;
    free(outcomes->kept);
    outcomes->kept = NULL;
}

static bool gives_none(const struct riptide_agent *agent)
{
    return agent->outcomes.suspension.until_ns > 0 || agent->is_paused ||
           (agent->backend == RIPTIDE_PROGRAM && riptide_agent_read_applier(agent).program_reason);
}

/* Connections that open without our window show nothing about it. */
static void wait_for_flights(struct riptide_agent *agent, bool is_off)
{
    struct outcomes *outcomes = &agent->outcomes;

    if (is_off)
        outcomes->flights_wait = FLIGHTS_WAIT;
    else
        outcomes->flights_wait -= outcomes->flights_wait > 0;
    agent->estimator->gives_none = outcomes->flights_wait > 0;
}

static void judge(struct riptide_agent *agent, uint64_t now_ns)
{
    struct outcomes *outcomes = &agent->outcomes;
    struct experiment *experiment = outcomes->experiment;
    struct verdict verdict;
    enum suspension_step step =
        experiment_judge(experiment, &outcomes->suspension, &verdict, now_ns);

    if (step == SUSPENSION_BEGINS)
        suspension_describe(&outcomes->suspension, &verdict, outcomes->why_suspended,
                            sizeof(outcomes->why_suspended));
    if (step != SUSPENSION_SAME)
        agent_apply_pause(agent);
    applier_set_holdout(agent->applier,
                        ARM_SHARE(phase_percent(&experiment->arms, experiment->phase)),
                        experiment->phase);
}

void outcomes_begin_round(struct riptide_agent *agent, uint64_t now_ns)
{
    const struct experiment *experiment = agent->outcomes.experiment;

    if (experiment) {
        judge(agent, now_ns);
        /* The share of the first phase in both: some that have opened in it are still open. */
        agent->estimator->holdout = ARM_SHARE(experiment->arms.holdout_percent);
        agent->estimator->arms_seed = experiment->arms.seed;
    }
    wait_for_flights(agent, gives_none(agent));
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

/* Most closed connections do not count and return early. */
static enum book_entry enter(struct riptide_agent *agent, const struct riptide_sample *sample,
                             const struct opened *opened)
{
    struct experiment *experiment = agent->outcomes.experiment;
    struct riptide_estimate path = { .min_rtt_us = 0 };
    enum book_entry entry;
    struct book_line line;

    if (sample->acked_bytes <= (uint64_t)KERNEL_CWND * sample->mss_bytes)
        return BOOK_SMALL;
    /* Without this sample, whose own time depends on its arm: the policy has it after the tick. */
    riptide_estimator_find(agent->estimator, &sample->dst, &path);
    entry = book_line_of(&line, opened->phase, sample, path.min_rtt_us);
    if (entry == BOOK_ENTERED)
        experiment_enter(experiment, &line, opened->arm,
                         verdict_group(&sample->dst, experiment->arms.seed));
    return entry;
}

void outcomes_enter(struct riptide_agent *agent, const struct riptide_sample *sample, uint32_t cwnd)
{
    struct outcomes *outcomes = &agent->outcomes;
    struct opened opened = { ARM_WINDOW, HOLDOUT_FIRST };
    bool is_noted = outcomes->experiment &&
                    applier_find_opened(agent->applier, sample->cookie, sample->closed, &opened);

    if (cwnd > 0 && outcomes->flights_wait == 0 && (is_noted || !outcomes->experiment))
        count_flight(&outcomes->flights[opened.arm], sample, cwnd);
    if (is_noted)
        outcomes->left_out[opened.arm][enter(agent, sample, &opened)]++;
    else if (outcomes->experiment && cwnd > 0)
        outcomes->left_out[ARM_WINDOW][BOOK_WITHOUT]++;
}
