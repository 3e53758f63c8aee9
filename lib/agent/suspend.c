/* SPDX-License-Identifier: MIT */
/* Once a round withdraws windows that do harm. */
#include "agent/parts.h"

#include "verdict/verdict.h"

static enum suspension_step judge_all(struct outcomes *outcomes, struct verdict *verdict, uint64_t now_ns)
{
    const struct books *const books[] = { outcomes->books, outcomes->recent };
    enum suspension_step step = SUSPENSION_SAME;

    for (int i = 0; i < 2 && step == SUSPENSION_SAME; i++) {
        double confidence =
            i == 0 ? VERDICT_CONFIDENCE : verdict_nth_confidence(outcomes->n_recents + 1);
        bool is_known = books[i] && outcomes->n_recent < RECENT &&
                        verdict_compute(verdict, books[i], (struct verdict_classes){ 0 },
                                        confidence) == 0;

        step = suspension_judge(&outcomes->suspension, is_known ? verdict : NULL, now_ns);
    }
    return step;
}

/*
 * While windows are withdrawn nothing is entered, as it would dilute the effect in the books. These
 * remain readable until windows return; then they end, as they are outdated.
 */
void suspend_where_harm_is(struct riptide_agent *agent, uint64_t now_ns)
{
    struct outcomes *outcomes = &agent->outcomes;
    struct verdict verdict;

    if (!outcomes->books)
        return;
    switch (judge_all(outcomes, &verdict, now_ns)) {
    case SUSPENSION_BEGINS:
        suspension_describe(&outcomes->suspension, &verdict, outcomes->why_suspended, sizeof(outcomes->why_suspended));
        agent_apply_pause(agent);
        break;
    case SUSPENSION_ENDS:
        agent_apply_pause(agent);
        books_end(outcomes);
        break;
    case SUSPENSION_SAME:
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
