/* SPDX-License-Identifier: MIT */
/* Once a round withdraws windows that do harm, of one destination or of all. */
#include "agent/parts.h"

#include "compute/estimator.h"
#include "proof/verdict.h"

#include <stdlib.h>

/*
 * The harm of this destination stays in the host's books, which are therefore no longer judged:
 * otherwise the windows of the others would be withdrawn for it.
 */
static void destination_steps(struct riptide_agent *agent, struct watched *watched,
                              enum harm_step step)
{
    bool was_held = watched->n_wait > 0;

    if (step != HARM_STAYS)
        watched->n_wait = BOOKS_WAIT;
    else if (was_held && watched->harm.until_ns == 0)
        watched->n_wait--;
    if (was_held || watched->n_wait > 0)
        estimator_hold_back(agent->estimator, &watched->dst, watched->n_wait > 0,
                            step != HARM_STAYS);
    if (step != HARM_STEPS_BACK)
        return;
    agent->outcomes.are_tainted = true;
    agent->outcomes.n_recent = RECENT;
}

/* Whether the host's harm is that of one destination, which then steps back alone. */
static bool has_cause(struct riptide_agent *agent, const struct harm_config *config,
                      const struct verdict *verdict, uint64_t now_ns)
{
    struct outcomes *outcomes = &agent->outcomes;
    struct watched *cause = NULL;

    if (outcomes->harm.until_ns == 0 && harm_is_shown(config, verdict))
        cause = watch_find_cause(&outcomes->watch, config);
    if (!cause)
        return false;
    watched_step_back(&outcomes->watch, cause, config, now_ns);
    destination_steps(agent, cause, HARM_STEPS_BACK);
    return true;
}

static enum harm_step judge_all(struct riptide_agent *agent, const struct harm_config *config,
                                struct verdict *verdict, uint64_t now_ns)
{
    struct outcomes *outcomes = &agent->outcomes;
    const struct books *const books[] = { outcomes->are_tainted ? NULL : outcomes->books,
                                          outcomes->recent };
    enum harm_step step = HARM_STAYS;

    for (int i = 0; i < 2 && step == HARM_STAYS; i++) {
        double confidence =
            i == 0 ? VERDICT_CONFIDENCE : verdict_nth_confidence(outcomes->n_recents + 1);
        bool is_known = books[i] && outcomes->n_recent < RECENT &&
                        verdict_compute(verdict, books[i], (struct verdict_classes){ 0 }, confidence) == 0;

        if (is_known && has_cause(agent, config, verdict, now_ns))
            is_known = false;
        step = harm_judge(&outcomes->harm, config, is_known ? verdict : NULL, now_ns);
    }
    return step;
}

/*
 * While windows are withdrawn nothing is entered, as it would dilute the effect in the books. These
 * remain readable until windows return; then they end, as they are outdated.
 */
void step_back_where_harm_is(struct riptide_agent *agent, uint64_t now_ns)
{
    const struct harm_config config = { agent->stages.agent.step_back_percent,
                                        agent->outcomes.arms.holdout_percent,
                                        agent->stages.agent.step_back_wait_ns };
    struct connections *connections = agent->backends.connections;
    struct outcomes *outcomes = &agent->outcomes;
    struct verdict verdict;

    if (!connections && outcomes->harm.until_ns == 0)
        return;
    FOR_EACH_WATCHED(&outcomes->watch, slot)
    {
        struct watched *watched = watched_at(&outcomes->watch, slot);

        if (estimator_min_rtt_us(agent->estimator, &watched->dst) > 0)
            watched->path_rtt_us = 0;
        destination_steps(agent, watched,
                          watched_judge(&outcomes->watch, watched, &config, &verdict, now_ns));
    }
    if (!outcomes->books && outcomes->harm.until_ns == 0)
        return;
    switch (judge_all(agent, &config, &verdict, now_ns)) {
    case HARM_STEPS_BACK:
        harm_describe(&outcomes->harm, &verdict, outcomes->why_back, sizeof(outcomes->why_back));
        backends_step_back(&agent->backends, outcomes->why_back);
        break;
    case HARM_RETURNS:
        backends_step_back(&agent->backends, NULL);
        books_end(outcomes);
        break;
    case HARM_STAYS:
        break;
    }
    if (outcomes->recent && outcomes->n_recent >= RECENT) {
        *outcomes->recent = (struct books){ 0 };
        outcomes->n_recent = 0;
        outcomes->n_recents++;
    }
    if (connections && connections_get_reason(connections))
        outcomes->wait = BOOKS_WAIT;
    else
        outcomes->wait -= outcomes->wait > 0;
}
