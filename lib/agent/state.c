/* SPDX-License-Identifier: MIT */
/* The state of an agent in its file; lib/compute/state.c and state_text.c define the text. */
#include "agent/parts.h"
#include "compute/estimator.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Mode of the file, and the largest size that is loaded. */
enum { FILE_MODE = 0600, MAX_FILE_BYTES = 1 << 30 };

static struct clocks read_clocks(void)
{
    return (struct clocks){ read_clock(CLOCK_BOOTTIME), read_clock(CLOCK_REALTIME) };
}

/* Not as one text, which would be a third of a daemon's memory. */
static int put_state(FILE *out, const void *from)
{
    const struct riptide_agent *agent = from;
    const struct estimator_now now = { agent->estimator, read_clocks() };

    state_put(out, &now);
    state_text_put(out, agent, now.clocks);
    return 0;
}

RIPTIDE_PUBLIC size_t riptide_agent_get_state(const struct riptide_agent *agent, char *text,
                                              size_t size)
{
    size_t n = text_give(text, size, put_state, agent);

    /* The ages of windows may have another digit by the next call. */
    return n > size ? n + n / 16 : n;
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

/* A pause, hints and outcomes count even if the clock is wrong and the windows are refused. */
bool state_load(struct riptide_agent *agent)
{
    struct riptide_error error = { .text = "" }, others = { .text = "" };
    struct riptide_load_counts counts = { 0 };
    struct clocks clocks = read_clocks();
    CLEANUP(freep) void *text = NULL;
    size_t n = 0;
    int r;

    if (!agent->state)
        return false;
    r = riptide_file_read(agent->state, MAX_FILE_BYTES, &text, &n, &error);
    if (r < 0) {
        error_set(&agent->state_said, "%s; starting empty", error.text);
    } else {
        r = riptide_estimator_load(agent->estimator, clocks.now_ns, clocks.realtime_ns, text, n,
                                   &counts, &error);
        state_text_load(agent, text, clocks, &others);
        if (r == 0)
            error_set(&agent->state_said,
                      "%s: destinations loaded: %" PRIu32 ", expired: %" PRIu32
                      ", others: %" PRIu32 "; %s",
                      agent->state, counts.loaded, counts.expired, counts.skipped, others.text);
        else
            error_set(&agent->state_said, "%s: %s; no destinations loaded; %s", agent->state,
                      error.text[0] ? error.text : strerror(-r), others.text);
        agent_apply_pause(agent);
    }
    return r != 0 && r != -ENOENT;
}
