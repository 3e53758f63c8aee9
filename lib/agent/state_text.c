/* SPDX-License-Identifier: MIT */
/*
 * What an agent adds behind the windows of a state: a pause and hints with an end, as an operator
 * has asked for, then outcomes of connections, and the experiment that they are of. An outcome has
 * the index of its phase, class and arm. Pure.
 *
 *     riptide agent 2
 *     paused=1
 *     hint=203.0.113.0/24 cwnd_max=15 off=0 until_ns=1790000000000000000 left_ns=3600000000000
 *     outcome=29 sums=40,81920,167772160,3276,536756
 *     experiment=5 phase=0 stretches=1 until_ns=0 wait_ns=0 given_ns=0 shown_ns=0
 *
 * Fields as in lib/compute/state.c: unknown ones are skipped, and those that are missing are 0.
 * until_ns is of CLOCK_REALTIME, the only clock that continues through a reboot. A hint or wait
 * ends then. It lasts no longer than was left when it was saved, as that clock may have been set
 * back.
 */
#include "parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number changes with the classes of outcomes. */
static const char head[] = "riptide agent 2\n", paused_line[] = "paused=1";

enum { LINE_BYTES = 256 };

/* The longest time that a hint has left: 366 days. A longer one makes its line damaged. */
#define MOST_LEFT_NS (UINT64_C(366) * 86400 * NS_PER_S)

static void put_hints(FILE *out, const struct riptide_estimator *estimator, struct clocks clocks)
{
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];
    struct riptide_hint hint;
    uint32_t cursor = 0;

    while (riptide_estimator_next_hint(estimator, &cursor, &hint) == 0) {
        uint64_t left_ns = hint.until_ns - clocks.now_ns;

        if (hint.until_ns == RIPTIDE_NEVER_NS || hint.until_ns <= clocks.now_ns)
            continue;
        riptide_prefix_format(&hint.dst, dst);
        fprintf(out,
                "hint=%s cwnd_max=%" PRIu32 " off=%d until_ns=%" PRIu64 " left_ns=%" PRIu64 "\n",
                dst, hint.cwnd_max, hint.off, clocks.realtime_ns + left_ns, left_ns);
    }
}

static void put_experiment(FILE *out, const struct experiment *experiment, struct clocks clocks)
{
    const struct suspension *suspension = &experiment->suspension;
    uint64_t until_ns = suspension->until_ns, now_ns = clocks.now_ns;
    const double(*all)[SUMS] = experiment->all.sums[0][0];

    for (size_t i = 0; i < ALL_SUMS; i++) {
        if (all[i][SUM_CONNECTIONS] == 0)
            continue;
        fprintf(out, "outcome=%zu sums=", i);
        for (size_t sum = 0; sum < SUMS; sum++)
            fprintf(out, "%.0f%c", all[i][sum] / sum_unit[sum], sum + 1 < SUMS ? ',' : '\n');
    }
    /* After the last outcome, so that those of a truncated file have no known share. */
    fprintf(out,
            "experiment=%" PRIu32 " phase=%d stretches=%" PRIu32 " until_ns=%" PRIu64
            " wait_ns=%" PRIu64 " given_ns=%" PRIu64 " shown_ns=%" PRIu64 "\n",
            experiment->holdout_percent, experiment->phase, experiment->n_stretches,
            until_ns > 0 ? clocks.realtime_ns + (until_ns > now_ns ? until_ns - now_ns : 0) : 0,
            suspension->wait_ns, now_ns - suspension->since_ns, suspension->shown_ns);
}

void state_text_put(FILE *out, const struct riptide_agent *agent, struct clocks clocks)
{
    fputs(head, out);
    if (agent->is_paused)
        fprintf(out, "%s\n", paused_line);
    put_hints(out, agent->estimator, clocks);
    if (agent->experiment.holdout_percent > 0)
        put_experiment(out, &agent->experiment, clocks);
    else if (agent->kept_outcomes)
        fputs(agent->kept_outcomes, out);
}

/* The time left until until_ns of CLOCK_REALTIME, at most most_ns. */
static uint64_t left_of(uint64_t until_ns, uint64_t most_ns, struct clocks clocks)
{
    uint64_t left_ns = until_ns > clocks.realtime_ns ? until_ns - clocks.realtime_ns : 0;

    return left_ns < most_ns ? left_ns : most_ns;
}

static bool is_of(const char *line, const char *key)
{
    return strncmp(line, key, strlen(key)) == 0;
}

/* Returns whether the line is that of a hint, which was added or has ended meanwhile. */
static bool load_hint(struct riptide_estimator *estimator, const char *line, struct clocks clocks)
{
    const char *dst = line + strlen("hint=");
    bool is_damaged = false;
    uint64_t until_ns = field_number(line, " until_ns=", UINT64_MAX, &is_damaged);
    uint64_t left_ns = field_number(line, " left_ns=", MOST_LEFT_NS, &is_damaged);
    struct riptide_hint hint = {
        .cwnd_max = (uint32_t)field_number(line, " cwnd_max=", UINT32_MAX, &is_damaged),
        .off = field_number(line, " off=", 1, &is_damaged),
    };
    char text[RIPTIDE_PREFIX_TEXT_BYTES];

    snprintf(text, sizeof(text), "%.*s", (int)strcspn(dst, " "), dst);
    if (is_damaged || riptide_prefix_parse(&hint.dst, text) != 0)
        return false;
    left_ns = left_of(until_ns, left_ns, clocks);
    hint.until_ns = clocks.now_ns + left_ns;
    return left_ns == 0 || riptide_estimator_set_hint(estimator, &hint, NULL) == 0;
}

static bool load_outcome(struct outcomes *outcomes, const char *line)
{
    double(*all)[SUMS] = outcomes->sums[0][0], sums[SUMS];
    uint64_t units[SUMS];
    size_t at;
    int n = 0;

    /* Whole numbers: others depend on the locale. */
    sscanf(line, "outcome=%zu sums=%" SCNu64 ",%" SCNu64 ",%" SCNu64 ",%" SCNu64 ",%" SCNu64 "%n",
           &at, &units[0], &units[1], &units[2], &units[3], &units[4], &n);
    if (n == 0 || line[n] || at >= ALL_SUMS)
        return false;
    for (size_t sum = 0; sum < SUMS; sum++)
        sums[sum] = (double)units[sum] * sum_unit[sum];
    if (!sums_are_possible(sums))
        return false;
    memcpy(all[at], sums, sizeof(sums));
    return true;
}

/*
 * Loads the experiment's line. Returns whether it was one. Outcomes of another share are dropped,
 * and `said` says so.
 */
static bool load_experiment(struct experiment *experiment, const char *line, struct clocks clocks,
                            struct riptide_error *said)
{
    bool is_damaged = false;
    uint32_t percent = (uint32_t)field_number(line, "experiment=", 100, &is_damaged);
    uint64_t phase = field_number(line, " phase=", HOLDOUT_PHASES - 1, &is_damaged);
    uint64_t n_stretches = field_number(line, " stretches=", INT32_MAX, &is_damaged);
    uint64_t until_ns = field_number(line, " until_ns=", UINT64_MAX, &is_damaged);
    uint64_t given_ns = field_number(line, " given_ns=", UINT64_MAX, &is_damaged);
    struct suspension loaded = {
        .wait_ns = field_number(line, " wait_ns=", MOST_WAIT_NS, &is_damaged),
        .shown_ns = field_number(line, " shown_ns=", INT64_MAX / 2, &is_damaged),
    };

    if (is_damaged || !is_of(line, "experiment="))
        return false;
    loaded.since_ns = clocks.now_ns > given_ns ? clocks.now_ns - given_ns : 1;
    if (until_ns > 0) {
        loaded.until_ns = clocks.now_ns + left_of(until_ns, loaded.wait_ns, clocks);
        snprintf(experiment->why_suspended, sizeof(experiment->why_suspended),
                 "suspended before the last start: windows had done harm beyond chance");
    }
    experiment->suspension = loaded;
    /*
     * The stretch that was running is broken off, and counts. Otherwise each restart would allow as
     * many errors as the first start.
     */
    experiment->n_stretches = (uint32_t)n_stretches + 1;
    if (percent != experiment->holdout_percent) {
        error_set(said,
                  "the file's are not used: they are of a share of %" PRIu32
                  " %% held out, now it is %" PRIu32,
                  percent, experiment->holdout_percent);
        memset(&experiment->all, 0, sizeof(experiment->all));
        return true;
    }
    if (phase == HOLDOUT_SETTLED)
        experiment_settle_loaded(experiment);
    return true;
}

/* Whether the agent cannot use a line, as none is held out, but keeps it for a later start. */
static bool is_for_later(const struct riptide_agent *agent, const char *line)
{
    return agent->experiment.holdout_percent == 0 &&
           (is_of(line, "outcome=") || is_of(line, "experiment="));
}

/*
 * Returns whether the line was taken. `is_complete` is set by the experiment's line, which follows
 * all outcomes; `reason` is as of load_experiment.
 */
static bool load_line(struct riptide_agent *agent, const char *line, struct clocks clocks,
                      bool *is_complete, struct riptide_error *reason)
{
    bool is_taken;

    if (is_of(line, "hint="))
        return load_hint(agent->estimator, line, clocks);
    if (is_of(line, "outcome="))
        return load_outcome(&agent->experiment.all, line);
    if (strcmp(line, paused_line) == 0) {
        agent->is_paused = true;
        return true;
    }
    is_taken = load_experiment(&agent->experiment, line, clocks, reason);
    *is_complete |= is_taken;
    return is_taken;
}

void state_text_load(struct riptide_agent *agent, const char *state, struct clocks clocks,
                     struct riptide_error *said)
{
    struct outcomes *outcomes = &agent->experiment.all;
    struct riptide_error reason = { .text = "" };
    const char *at = strstr(state, head), *end, *separator;
    bool is_complete = false;
    uint32_t n_invalid = 0;
    char line[LINE_BYTES];

    /* Without the head there is nothing of an agent. */
    at = at ? at + strlen(head) : "";
    while ((end = strchr(at, '\n')) && !is_for_later(agent, at)) {
        snprintf(line, sizeof(line), "%.*s", (int)(end - at), at);
        if (!load_line(agent, line, clocks, &is_complete, &reason))
            n_invalid++;
        at = end + 1;
    }
    free(agent->kept_outcomes);
    agent->kept_outcomes = NULL;
    /*
     * A line is left: from it on all are kept for later. Without its end the last one was cut off.
     */
    if (end)
        agent->kept_outcomes = strdup(at);
    else if (*at)
        n_invalid++;
    if (agent->kept_outcomes)
        error_set(&reason, "those of the file wait until connections are held out again");
    else if (!is_complete && outcomes_count(outcomes, ARMS) > 0)
        error_set(&reason, "the file's are incomplete, and not used");
    if (!is_complete)
        memset(outcomes, 0, sizeof(*outcomes));
    separator = reason.text[0] ? ": " : "";
    error_set(said, "outcomes of connections: %.0f%s%s", outcomes_count(outcomes, ARMS), separator,
              reason.text);
    if (n_invalid > 0)
        snprintf(said->text + strlen(said->text), sizeof(said->text) - strlen(said->text),
                 "; invalid lines: %" PRIu32, n_invalid);
}
