/* SPDX-License-Identifier: MIT */
/*
 * What an operator has asked of a running agent, as text behind a state: a pause, and hints with an
 * end. Outcomes follow. Pure: its caller has the stream.
 *
 *     riptide agent 1
 *     paused=1
 *     hint=203.0.113.0/24 cwnd_max=15 off=0 until_ns=1790000000000000000 left_ns=3600000000000
 *
 * until_ns is of CLOCK_REALTIME, the only clock that continues through a reboot. A hint ends then,
 * but lasts no longer than left_ns, the rest when it was saved, where that clock was set back.
 */
#include "agent/parts.h"
#include "compute/estimator.h"
#include "internal.h"
#include "prefix.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char head[] = "riptide agent 1\n", paused_line[] = "paused=1\n";

/* However damaged a file is. */
#define MOST_LEFT_NS (UINT64_C(366) * 86400 * NS_PER_S)

void operator_put(FILE *out, const struct riptide_estimator *estimator, bool is_paused,
                  uint64_t now_ns, uint64_t realtime_ns)
{
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];
    struct riptide_hint hint;
    uint32_t cursor = 0;

    fputs(head, out);
    if (is_paused)
        fputs(paused_line, out);
    while (riptide_estimator_next_hint(estimator, &cursor, &hint) == 0) {
        if (!hint_has_end(&hint) || hint.until_ns <= now_ns)
            continue;
        riptide_prefix_format(&hint.dst, dst);
        fprintf(out, "hint=%s cwnd_max=%" PRIu32 " off=%d until_ns=%" PRIu64 " left_ns=%" PRIu64 "\n",
                dst, hint.cwnd_max, hint.off, realtime_ns + (hint.until_ns - now_ns),
                hint.until_ns - now_ns);
    }
}

/* Returns whether the line is that of a hint which was added, or has ended. */
static bool load_hint(struct riptide_estimator *estimator, const char *line, const char *end,
                      uint64_t now_ns, uint64_t realtime_ns)
{
    struct riptide_hint hint = { .until_ns = now_ns };
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];
    uint64_t until_ns, left_ns;
    int off, n = 0;

    if (sscanf(line,
               "hint=%49s cwnd_max=%" SCNu32 " off=%d until_ns=%" SCNu64 " left_ns=%" SCNu64 "%n",
               dst, &hint.cwnd_max, &off, &until_ns, &left_ns, &n) != 5 ||
        line + n != end || riptide_prefix_parse(&hint.dst, dst) != 0 || off < 0 || off > 1 ||
        left_ns > MOST_LEFT_NS)
        return false;
    if (until_ns <= realtime_ns)
        return true;
    hint.off = off;
    hint.until_ns += until_ns - realtime_ns < left_ns ? until_ns - realtime_ns : left_ns;
    return riptide_estimator_set_hint(estimator, &hint, NULL) == 0;
}

bool operator_load(struct riptide_estimator *estimator, const char *state, uint64_t now_ns,
                   uint64_t realtime_ns, uint32_t *n_skippedp)
{
    const char *line = strstr(state, head), *end;
    bool is_paused = false;

    *n_skippedp = 0;
    if (!line)
        return false;
    for (line += sizeof(head) - 1; (end = strchr(line, '\n')); line = end + 1) {
        if (strncmp(line, "riptide ", 8) == 0)
            return is_paused;
        if (strncmp(line, paused_line, sizeof(paused_line) - 1) == 0)
            is_paused = true;
        else
            *n_skippedp += !load_hint(estimator, line, end, now_ns, realtime_ns);
    }
    *n_skippedp += *line != '\0'; /* it was cut off */
    return is_paused;
}
