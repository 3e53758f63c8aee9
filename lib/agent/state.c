/* SPDX-License-Identifier: MIT */
/*
 * The state of an agent in its file: windows, then what an operator asked for, then outcomes;
 * lib/compute/state.c, operator_text.c and outcomes_text.c define the text.
 */
#include "agent/parts.h"
#include "compute/estimator.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Mode of the file, and the largest size that is loaded. */
enum { FILE_MODE = 0600, MAX_FILE_BYTES = 1 << 30 };

static void put_windows(FILE *out, const struct riptide_estimator *estimator, uint64_t now_ns,
                        uint64_t realtime_ns)
{
    char line[STATE_LINE_BYTES];

    fwrite(line, 1, state_put_head(line, realtime_ns), out);
    FOR_EACH_DESTINATION(estimator, slot)
    fwrite(line, 1, state_put_line(line, estimator, slot, now_ns), out);
}

/* Line by line: the whole text would be a third of a daemon's memory. */
static int put_state(FILE *out, const void *from)
{
    const struct riptide_agent *agent = from;
    uint64_t now_ns = read_clock(CLOCK_BOOTTIME), realtime_ns = read_clock(CLOCK_REALTIME);
    CLEANUP(freep) char *outcomes = NULL;
    size_t n = 0;
    int r;

    put_windows(out, agent->estimator, now_ns, realtime_ns);
    operator_put(out, agent->estimator, agent->is_paused, now_ns, realtime_ns);
    r = outcomes_save(&agent->outcomes, now_ns, realtime_ns, &outcomes, &n);
    if (r == 0)
        fwrite(outcomes, 1, n, out);
    return r;
}

RIPTIDE_PUBLIC size_t riptide_agent_get_state(const struct riptide_agent *agent, char *text,
                                              size_t size)
{
    CLEANUP(freep) char *state = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&state, &n);
    int r = out ? put_state(out, agent) : -ENOMEM;

    if ((out && fclose(out) != 0) || r < 0)
        return 0;
    /* The ages of windows may have another digit by the next call. */
    if (n > size)
        return n + n / 16;
    memcpy(text, state, n);
    return n;
}

RIPTIDE_PUBLIC int riptide_agent_save(const struct riptide_agent *agent, bool is_synced,
                                      struct riptide_error *error)
{
    struct riptide_error reason = { .text = "" };
    int r;

    error_set(error, "%s", "");
    if (is_forked(agent->pid, error))
        return -ECHILD;
    if (!agent->state)
        return error_set_field(error, "state", "no file is configured");
    if (!agent->is_started)
        return error_set_field(error, "state", "%s is loaded at the start, and not replaced before",
                               agent->state);
    if (agent->stages.applier.dry_run)
        return 0;
    r = riptide_file_write(agent->state, FILE_MODE, is_synced, put_state, agent, &reason);
    if (r < 0)
        error_set_field(error, "state", "%s", reason.text);
    return r;
}

/* Writes what became of the file at the start. */
static void describe(struct riptide_agent *agent, const char *failure, const char *outcomes)
{
    const struct riptide_load_counts *counts = &agent->loaded;
    struct riptide_error *said = &agent->state_said;

    if (agent->state_result == 0)
        error_set(said,
                  "%s: destinations loaded: %" PRIu32 ", expired: %" PRIu32 ", others: %" PRIu32
                  "; %s",
                  agent->state, counts->loaded, counts->expired,
                  counts->skipped, outcomes);
    else if (*outcomes)
        error_set(said, "%s; no destinations loaded; %s", failure, outcomes);
    else
        error_set(said, "%s; starting empty", failure);
}

/* A pause, hints and outcomes count even if the clock is wrong and the windows are refused. */
static int load(struct riptide_agent *agent, struct riptide_error *outcomes,
                struct riptide_error *error)
{
    uint64_t now_ns = read_clock(CLOCK_BOOTTIME), realtime_ns = read_clock(CLOCK_REALTIME);
    CLEANUP(freep) void *text = NULL;
    struct riptide_error reason = { .text = "" };
    uint32_t n_skipped = 0;
    size_t n = 0;
    int r = riptide_file_read(agent->state, MAX_FILE_BYTES, &text, &n, error);

    if (r < 0)
        return r;
    r = riptide_estimator_load(agent->estimator, now_ns, realtime_ns, text, n, &agent->loaded,
                               &reason);
    if (r != 0)
        error_set(error, "%s: %s", agent->state,
                  reason.text[0] ? reason.text : riptide_strerror(r));
    outcomes_load(&agent->outcomes, text, n, now_ns, realtime_ns, outcomes);
    if (operator_load(agent->estimator, text, now_ns, realtime_ns, &n_skipped))
        agent->is_paused = true;
    if (n_skipped > 0) {
        n = strlen(outcomes->text);
        snprintf(outcomes->text + n, sizeof(outcomes->text) - n,
                 "; invalid lines of a pause or hints: %" PRIu32, n_skipped);
    }
    agent_apply_pause(agent);
    return r;
}

void state_load(struct riptide_agent *agent)
{
    struct riptide_error error = { .text = "" }, outcomes = { .text = "" };

    if (!agent->state)
        return;
    agent->state_result = load(agent, &outcomes, &error);
    describe(agent, error.text, outcomes.text);
    if (!agent->stages.applier.dry_run)
        riptide_file_remove_left(agent->state);
}
