/* SPDX-License-Identifier: MIT */
/* When windows are suspended, for how long, and why; see suspension.h. */
#include "verdict/suspension.h"

#include "internal.h"
#include "verdict/verdict.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The first wait is a few verdicts' time, in which a path changes; later ones cost little. */
static const uint64_t first_wait_ns = NS_PER_S * 600, most_wait_ns = NS_PER_S * 3600 * 24;

/* Of time, and of retransmitted segments: a smaller harm is not worth a time without windows. */
static const double margin = 0.02;

/*
 * Time or retransmissions are worse by more than the margin, beyond chance. A gain in the other may
 * offset this, by the price of retransmissions: that is judged by estimates, as it takes many more
 * connections until a gain is beyond chance as well. A void verdict counts too: windows may be so
 * harmful that their connections end uncounted.
 */
static bool is_shown(const struct verdict *verdict)
{
    return (verdict->time.low > margin || verdict->again.low > margin) &&
           verdict_harm(verdict) > margin;
}

/*
 * The first wait, again where windows have been given for longer than the last one, plus twice the
 * time that the last harm took to show: where connections are rare, harm shows late each time.
 */
static uint64_t next_wait_ns(const struct suspension *suspension, uint64_t now_ns)
{
    if (suspension->wait_ns == 0 ||
        now_ns - suspension->since_ns > suspension->wait_ns + 2 * suspension->shown_ns)
        return first_wait_ns;
    return 2 * suspension->wait_ns < most_wait_ns ? 2 * suspension->wait_ns : most_wait_ns;
}

enum suspension_step suspension_judge(struct suspension *suspension,
                                      const struct verdict *verdict, uint64_t now_ns)
{
    if (suspension->until_ns > 0) {
        if (now_ns < suspension->until_ns)
            return SUSPENSION_SAME;
        suspension->until_ns = 0;
        suspension->since_ns = now_ns;
        return SUSPENSION_ENDS;
    }
    if (suspension->since_ns == 0)
        suspension->since_ns = now_ns;
    if (!verdict || !is_shown(verdict))
        return SUSPENSION_SAME;
    suspension->wait_ns = next_wait_ns(suspension, now_ns);
    suspension->shown_ns = now_ns - suspension->since_ns;
    suspension->until_ns = now_ns + suspension->wait_ns;
    suspension->n++;
    return SUSPENSION_BEGINS;
}

#define LINE(number)                                                                               \
    "suspended=%" number " until_ns=%" number " wait_ns=%" number " given_ns=%" number             \
    " shown_ns=%" number

size_t suspension_save(const struct suspension *suspension, uint64_t now_ns, uint64_t realtime_ns,
                       char text[SUSPENSION_LINE_BYTES])
{
    uint64_t left_ns = suspension->until_ns > now_ns ? suspension->until_ns - now_ns : 0;

    if (suspension->n == 0)
        return 0;
    return (size_t)snprintf(text, SUSPENSION_LINE_BYTES, LINE(PRIu64) "\n", suspension->n,
                            suspension->until_ns > 0 ? realtime_ns + left_ns : 0,
                            suspension->wait_ns, now_ns - suspension->since_ns,
                            suspension->shown_ns);
}

void suspension_load(struct suspension *suspension, const char *line, uint64_t now_ns,
                     uint64_t realtime_ns)
{
    uint64_t until_ns, left_ns, given_ns;
    struct suspension loaded = { 0 };

    if (sscanf(line, LINE(SCNu64), &loaded.n, &until_ns, &loaded.wait_ns, &given_ns,
               &loaded.shown_ns) != 5 ||
        loaded.wait_ns > most_wait_ns || loaded.shown_ns > INT64_MAX / 2)
        return;
    loaded.since_ns = now_ns > given_ns ? now_ns - given_ns : 1;
    left_ns = until_ns > realtime_ns ? until_ns - realtime_ns : 0;
    if (until_ns > 0)
        loaded.until_ns = now_ns + (left_ns < loaded.wait_ns ? left_ns : loaded.wait_ns);
    *suspension = loaded;
}

enum { COUNTS_BYTES = 80 };

void suspension_describe(const struct suspension *suspension, const struct verdict *verdict,
                         char *text, size_t size)
{
    const struct riptide_interval *time = &verdict->time, *again = &verdict->again;

    size_t n = (size_t)snprintf(
        text, size,
        "suspended for %" PRIu64 " s: time %+.1f %% (%+.1f to %+.1f), retransmitted %+.1f points "
        "(%+.1f to %+.1f)",
        suspension->wait_ns / NS_PER_S, 100 * time->estimate, 100 * time->low, 100 * time->high,
        100 * again->estimate, 100 * again->low, 100 * again->high);

    if (n + COUNTS_BYTES < size)
        snprintf(text + n, size - n, "; %" PRIu64 " connections against %" PRIu64 " held out",
                 verdict->n, verdict->n_control);
}
