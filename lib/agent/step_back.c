/* SPDX-License-Identifier: MIT */
/*
 * What becomes of windows that do harm, once a round: of one destination, or of all.
 */
#include "agent/parts.h"

#include "compute/estimator.h"
#include "proof/verdict.h"

#include <stdlib.h>

struct books *books_get_ended(struct riptide_agent *agent)
{
    if (!agent->ended)
        agent->ended = calloc(1, sizeof(*agent->ended));
    return agent->ended;
}

uint64_t books_due(const struct books *books, uint32_t holdout_percent)
{
    return (books_count(books) * holdout_percent + 50) / 100;
}

void books_end(struct riptide_agent *agent)
{
    if (agent->books && books_get_ended(agent)) {
        agent->ended_due +=
            books_due(agent->books, agent->stages.connections.arms.holdout_percent);
        books_add(agent->ended, agent->books);
    }
    if (agent->books)
        *agent->books = (struct books){ 0 };
    watch_begin_anew(&agent->watch);
    agent->are_books_tainted = false;
    agent->n_recent = RECENT;
    agent->books_since_s = read_clock(CLOCK_REALTIME) / NS_PER_S;
}

/* Books have the harm of one destination for long, which all the others are not to answer for. */
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
    agent->are_books_tainted = true;
    agent->n_recent = RECENT;
}

/* Whether harm of all is that of one destination, which then steps back instead. */
static bool has_cause(struct riptide_agent *agent, const struct harm_config *config,
                      const struct verdict *verdict, uint64_t now_ns)
{
    struct watched *cause = NULL;

    if (agent->harm.until_ns == 0 && harm_is_shown(config, verdict))
        cause = watch_find_cause(&agent->watch, config);
    if (!cause)
        return false;
    watched_step_back(&agent->watch, cause, config, now_ns);
    destination_steps(agent, cause, HARM_STEPS_BACK);
    return true;
}

static enum harm_step judge_all(struct riptide_agent *agent, const struct harm_config *config,
                                struct verdict *verdict, uint64_t now_ns)
{
    const struct books *const books[] = { agent->are_books_tainted ? NULL : agent->books,
                                          agent->recent };
    enum harm_step step = HARM_STAYS;

    for (int i = 0; i < 2 && step == HARM_STAYS; i++) {
        double confidence = i == 0 ? VERDICT_CONFIDENCE : verdict_nth_confidence(agent->n_recents + 1);
        bool is_known = books[i] && agent->n_recent < RECENT &&
                        verdict_compute(verdict, books[i], ARM_WINDOW, ARM_HOLDOUT,
                                        (struct verdict_classes){ 0 }, confidence) == 0;

        if (is_known && has_cause(agent, config, verdict, now_ns))
            is_known = false;
        step = harm_judge(&agent->harm, config, is_known ? verdict : NULL, now_ns);
    }
    return step;
}

/*
 * Books of windows that were none would end in no effect. What was entered before windows step back
 * stays to be read, and ends when they return: it is of another time then.
 */
void step_back_where_harm_is(struct riptide_agent *agent, uint64_t now_ns)
{
    const struct harm_config config = { agent->stages.agent.step_back_percent,
                                        agent->stages.connections.arms.holdout_percent,
                                        agent->stages.agent.step_back_wait_ns,
                                        agent->stages.agent.again_price };
    struct connections *connections = agent->backends.connections;
    struct verdict verdict;

    if (!connections)
        return;
    FOR_EACH_WATCHED(&agent->watch, slot) {
        struct watched *watched = watched_at(&agent->watch, slot);

        if (estimator_min_rtt_us(agent->estimator, &watched->dst) > 0)
            watched->path_rtt_us = 0;
        destination_steps(agent, watched,
                          watched_judge(&agent->watch, watched, &config, &verdict, now_ns));
    }
    if (!agent->books && agent->harm.until_ns == 0)
        return;
    switch (judge_all(agent, &config, &verdict, now_ns)) {
    case HARM_STEPS_BACK:
        harm_describe(&agent->harm, &verdict, agent->why_back, sizeof(agent->why_back));
        connections_step_back(connections, agent->why_back);
        break;
    case HARM_RETURNS:
        connections_step_back(connections, NULL);
        books_end(agent);
        break;
    case HARM_STAYS:
        break;
    }
    if (agent->recent && agent->n_recent >= RECENT) {
        *agent->recent = (struct books){ 0 };
        agent->n_recent = 0;
        agent->n_recents++;
    }
    if (connections_get_reason(connections))
        agent->books_wait = BOOKS_WAIT;
    else
        agent->books_wait -= agent->books_wait > 0;
}
