/* SPDX-License-Identifier: MIT */
/* Once a round withdraws windows that do harm. */
#include "agent/parts.h"

#include "proof/verdict.h"

static enum harm_step judge_all(struct outcomes *outcomes, struct verdict *verdict, uint64_t now_ns)
{
    const struct books *const books[] = { outcomes->books, outcomes->recent };
    enum harm_step step = HARM_STAYS;

    for (int i = 0; i < 2 && step == HARM_STAYS; i++) {
        double confidence =
            i == 0 ? VERDICT_CONFIDENCE : verdict_nth_confidence(outcomes->n_recents + 1);
        bool is_known = books[i] && outcomes->n_recent < RECENT &&
                        verdict_compute(verdict, books[i], (struct verdict_classes){ 0 },
                                        confidence) == 0;

        step = harm_judge(&outcomes->harm, is_known ? verdict : NULL, now_ns);
    }
    return step;
}

/*
 * While windows are withdrawn nothing is entered, as it would dilute the effect in the books. These
 * remain readable until windows return; then they end, as they are outdated.
 */
void step_back_where_harm_is(struct riptide_agent *agent, uint64_t now_ns)
{
    struct outcomes *outcomes = &agent->outcomes;
    struct verdict verdict;

    if (!outcomes->books)
        return;
    switch (judge_all(outcomes, &verdict, now_ns)) {
    case HARM_STEPS_BACK:
        harm_describe(&outcomes->harm, &verdict, outcomes->why_back, sizeof(outcomes->why_back));
        agent_apply_pause(agent);
        break;
    case HARM_RETURNS:
        agent_apply_pause(agent);
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
    if (riptide_agent_read_applier(agent).program_reason)
        outcomes->wait = BOOKS_WAIT;
    else
        outcomes->wait -= outcomes->wait > 0;
}
