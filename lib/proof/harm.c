/* SPDX-License-Identifier: MIT */
/*
 * When windows step back, for how long, and why; see harm.h.
 */
#include "proof/harm.h"

#include "internal.h"
#include "proof/verdict.h"

#include <inttypes.h>
#include <stdio.h>

static const uint64_t most_wait_ns = 24 * 3600 * NS_PER_S;

/*
 * That one of both is worse by more than the margin is beyond chance. A gain of the other may be
 * worth it, one per cent of time a point sent again: that is weighed by estimates, as it takes many
 * more connections until a gain as well is beyond chance, and would harm nobody but these.
 */
static bool is_harm(const struct harm_config *config, const struct verdict *verdict)
{
    double margin = config->margin_percent / 100.0;

    return !verdict_is_void(verdict, config->holdout_percent) &&
           (verdict->time.low > margin || verdict->again.low > margin) &&
           verdict->time.estimate + verdict->again.estimate > margin;
}

/*
 * Twice the last one, unless windows did no harm for so long that this one is news: the last wait,
 * and twice what it took to see the last harm, as few connections show it late each time.
 */
static uint64_t wait_ns_of(const struct harm *harm, uint64_t first_ns, uint64_t given_ns)
{
    bool is_news = harm->wait_ns == 0 || given_ns > harm->wait_ns + 2 * harm->shown_ns;
    uint64_t wait_ns = is_news ? first_ns : 2 * harm->wait_ns;

    return wait_ns < most_wait_ns ? wait_ns : most_wait_ns;
}

enum harm_step harm_judge(struct harm *harm, const struct harm_config *config,
                          const struct verdict *verdict, uint64_t now_ns)
{
    bool is_off = config->margin_percent == 0 || config->holdout_percent == 0;
    uint64_t given_ns;

    if (harm->until_ns > 0) {
        if (now_ns < harm->until_ns && !is_off)
            return HARM_STAYS;
        harm->until_ns = 0;
        harm->since_ns = now_ns;
        return HARM_RETURNS;
    }
    if (harm->since_ns == 0)
        harm->since_ns = now_ns;
    if (is_off || !verdict || !is_harm(config, verdict))
        return HARM_STAYS;
    given_ns = now_ns - harm->since_ns;
    harm->wait_ns = wait_ns_of(harm, config->wait_ns, given_ns);
    harm->shown_ns = given_ns;
    harm->until_ns = now_ns + harm->wait_ns;
    harm->n++;
    return HARM_STEPS_BACK;
}

void harm_describe(const struct harm *harm, const struct verdict *verdict, char *text, size_t size)
{
    const struct riptide_interval *time = &verdict->time, *again = &verdict->again;

    snprintf(text, size,
             "stepped back for %" PRIu64 " s: time %+.1f %% (%+.1f to %+.1f), sent again %+.1f "
             "points (%+.1f to %+.1f); %" PRIu64 " connections against %" PRIu64 " held out",
             harm->wait_ns / NS_PER_S, 100 * time->estimate, 100 * time->low, 100 * time->high,
             100 * again->estimate, 100 * again->low, 100 * again->high, verdict->n,
             verdict->n_control);
}
