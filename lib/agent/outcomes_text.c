/* SPDX-License-Identifier: MIT */
/* Outcomes as text behind a state: books, their phase, and the wait of a suspension. Pure. */
#include "agent/parts.h"
#include "internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PHASE_LINE_BYTES = 96 };

static const char head[] = "\nriptide books ";

int outcomes_save(const struct outcomes *outcomes, uint64_t now_ns, uint64_t realtime_ns,
                  char **textp, size_t *np)
{
    const struct experiment *experiment = outcomes->experiment;
    size_t size = books_save(NULL, NULL, 0), n;
    char *text;

    if (!experiment) {
        *textp = strdup(outcomes->kept ? outcomes->kept : "");
        *np = outcomes->kept ? strlen(outcomes->kept) : 0;
        return *textp ? 0 : -ENOMEM;
    }
    text = malloc(size + PHASE_LINE_BYTES + SUSPENSION_LINE_BYTES);
    if (!text)
        return -ENOMEM;
    n = books_save(&experiment->all, text, size);
    /* After the last cell, so that truncated books have no known shares. */
    n += (size_t)snprintf(text + n, PHASE_LINE_BYTES,
                          "holdout_percent=%u phase=%s since_s=%" PRIu64 "\n",
                          experiment->arms.holdout_percent, phase_name[experiment->phase],
                          experiment->since_s);
    n += suspension_save(&outcomes->suspension, now_ns, realtime_ns, text + n);
    *textp = text;
    *np = n;
    return 0;
}

/* Books of the same share; `said`: why others are not used. */
static void load_books(struct experiment *experiment, const char *begin, uint32_t *n_skippedp,
                       struct riptide_error *said)
{
    const char *line = strstr(begin, "\nholdout_percent=");
    char phase[16] = "", newline = 0;
    uint32_t percent;
    uint64_t since_s;

    if (!line ||
        sscanf(line, "\nholdout_percent=%" SCNu32 " phase=%15s since_s=%" SCNu64 "%c", &percent,
               phase, &since_s, &newline) != 4 ||
        newline != '\n') {
        error_set(said, "books are incomplete or of another version, and not used");
        return;
    }
    if (percent != experiment->arms.holdout_percent) {
        error_set(said,
                  "the file's books are not used: they are of --holdout-percent %u, now it is %u",
                  percent, experiment->arms.holdout_percent);
        return;
    }
    if (books_load(&experiment->all, begin, (size_t)(line + 1 - begin), n_skippedp, said) != 0)
        return;
    experiment->since_s = since_s;
    if (strcmp(phase, phase_name[HOLDOUT_SETTLED]) != 0)
        return;
    experiment_begin(experiment, HOLDOUT_SETTLED);
    experiment->before = experiment->all;
}

/* Windows that were withdrawn after harm stay withdrawn, until the same time. */
static void load_suspension(struct outcomes *has, const char *text, uint64_t now_ns,
                            uint64_t realtime_ns)
{
    const char *line = strstr(text, "\nsuspended=");

    if (line)
        suspension_load(&has->suspension, line + 1, now_ns, realtime_ns);
    if (has->suspension.until_ns == 0)
        return;
    snprintf(has->why_suspended, sizeof(has->why_suspended),
             "suspended before the last start, for another %llu s; `riptide verdict` has the "
             "reason",
             (unsigned long long)((has->suspension.until_ns - now_ns) / NS_PER_S));
}

void outcomes_load(struct outcomes *outcomes, const char *state, size_t size, uint64_t now_ns,
                   uint64_t realtime_ns, struct riptide_error *said)
{
    const char *begin = memmem(state, size, head, sizeof(head) - 1);
    struct riptide_error reason = { .text = "" };
    uint32_t n_skipped = 0;

    if (!outcomes->experiment) {
        /* The text which this agent cannot use is kept for a later start. */
        free(outcomes->kept);
        outcomes->kept = begin ? strdup(begin + 1) : NULL;
        error_set(said, "outcomes of connections: 0%s",
                  outcomes->kept ? ": the file's outcomes are kept unused, as no connection "
                                   "is held out now"
                                 : "");
        return;
    }
    if (begin)
        load_books(outcomes->experiment, begin + 1, &n_skipped, &reason);
    if (n_skipped > 0)
        error_set(&reason, "invalid lines: %u", n_skipped);
    error_set(said, "outcomes of connections: %llu%s%s",
              (unsigned long long)books_count(&outcomes->experiment->all),
              reason.text[0] ? ": " : "", reason.text);
    load_suspension(outcomes, state, now_ns, realtime_ns);
}
