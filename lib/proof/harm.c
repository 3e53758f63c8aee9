/* SPDX-License-Identifier: MIT */
/* When windows step back, for how long, and why; see harm.h. */
#include "proof/harm.h"

#include "internal.h"
#include "proof/verdict.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The first wait is a few verdicts' time, in which a path changes; later ones cost little. */
static const uint64_t first_wait_ns = NS_PER_S * 600, most_wait_ns = NS_PER_S * 3600 * 24;

/* Of time, and of retransmitted segments: a smaller harm is not worth a time without windows. */
static const double margin = 0.02;

/*
 * A point of retransmissions counts as one percent of time: what is sent again loads the path of
 * others, which the time of the own connection does not show.
 */
static const double again_price = 1;

/*
 * Time or retransmissions are worse by more than the margin, beyond chance. A gain in the other may
 * offset this, by the price of retransmissions: that is judged by estimates, as it takes many more
 * connections until a gain is beyond chance as well. A void verdict counts too: windows may be so
 * harmful that their connections end uncounted.
 */
static bool is_shown(const struct verdict *verdict)
{
    return (verdict->time.low > margin || verdict->again.low > margin) &&
           verdict->time.estimate + again_price * verdict->again.estimate > margin;
}

/*
 * The first wait, again where windows have been given for longer than the last one, plus twice the
 * time that the last harm took to show: where connections are rare, harm shows late each time.
 */
static uint64_t next_wait_ns(const struct harm *harm, uint64_t now_ns)
{
    if (harm->wait_ns == 0 || now_ns - harm->since_ns > harm->wait_ns + 2 * harm->shown_ns)
        return first_wait_ns;
    return 2 * harm->wait_ns < most_wait_ns ? 2 * harm->wait_ns : most_wait_ns;
}

enum harm_step harm_judge(struct harm *harm, const struct verdict *verdict, uint64_t now_ns)
{
    if (harm->until_ns > 0) {
        if (now_ns < harm->until_ns)
            return HARM_STAYS;
        harm->until_ns = 0;
        harm->since_ns = now_ns;
        return HARM_RETURNS;
    }
    if (harm->since_ns == 0)
        harm->since_ns = now_ns;
    if (!verdict || !is_shown(verdict))
        return HARM_STAYS;
    harm->wait_ns = next_wait_ns(harm, now_ns);
    harm->shown_ns = now_ns - harm->since_ns;
    harm->until_ns = now_ns + harm->wait_ns;
    harm->n++;
    return HARM_STEPS_BACK;
}

#define LINE(number)                                                                               \
    "stepped_back=%" number " until_ns=%" number " wait_ns=%" number " given_ns=%" number          \
    " shown_ns=%" number

size_t harm_save(const struct harm *harm, uint64_t now_ns, uint64_t realtime_ns,
                 char text[HARM_LINE_BYTES])
{
    uint64_t left_ns = harm->until_ns > now_ns ? harm->until_ns - now_ns : 0;

    if (harm->n == 0)
        return 0;
    return (size_t)snprintf(text, HARM_LINE_BYTES, LINE(PRIu64) "\n", harm->n,
                            harm->until_ns > 0 ? realtime_ns + left_ns : 0, harm->wait_ns,
                            now_ns - harm->since_ns, harm->shown_ns);
}

void harm_load(struct harm *harm, const char *line, uint64_t now_ns, uint64_t realtime_ns)
{
    uint64_t until_ns, left_ns, given_ns;
    struct harm loaded = { 0 };

    if (sscanf(line, LINE(SCNu64), &loaded.n, &until_ns, &loaded.wait_ns, &given_ns,
               &loaded.shown_ns) != 5 ||
        loaded.wait_ns > most_wait_ns || loaded.shown_ns > INT64_MAX / 2)
        return;
    loaded.since_ns = now_ns > given_ns ? now_ns - given_ns : 1;
    left_ns = until_ns > realtime_ns ? until_ns - realtime_ns : 0;
    if (until_ns > 0)
        loaded.until_ns = now_ns + (left_ns < loaded.wait_ns ? left_ns : loaded.wait_ns);
    *harm = loaded;
}

enum { HARM_COUNTS_BYTES = 80 };

void harm_describe(const struct harm *harm, const struct verdict *verdict, char *text, size_t size)
{
    const struct riptide_interval *time = &verdict->time, *again = &verdict->again;

    size_t n = (size_t)snprintf(
        text, size,
        "stepped back for %" PRIu64 " s: time %+.1f %% (%+.1f to %+.1f), sent again %+.1f points "
        "(%+.1f to %+.1f)",
        harm->wait_ns / NS_PER_S, 100 * time->estimate, 100 * time->low, 100 * time->high,
        100 * again->estimate, 100 * again->low, 100 * again->high);

    if (n + HARM_COUNTS_BYTES < size)
        snprintf(text + n, size - n, "; %" PRIu64 " connections against %" PRIu64 " held out",
                 verdict->n, verdict->n_control);
}
