/* SPDX-License-Identifier: MIT */
/* When the state is saved, and the log lines about it. The agent does the file. */
#include "daemon.h"

#include "lib/tools.h"
#include "log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The most that a power failure may lose. */
#define SAVE_INTERVAL_NS UINT64_C(60000000000)

static void report_hints(struct riptide_agent *agent)
{
    struct riptide_hint hint;
    uint32_t cursor = 0, n = 0;

    while (riptide_estimator_next_hint(riptide_agent_get_estimator(agent), &cursor, &hint) == 0)
        n += hint.until_ns != RIPTIDE_NEVER_NS;
    if (n > 0)
        log_line(LOG_LEVEL_INFO, "hints that go on from before the start: %" PRIu32, n);
}

void state_report(const struct daemon *daemon, const char *said)
{
    const struct riptide_agent_stats *stats = riptide_agent_get_stats(daemon->agent);

    if (!stats->state)
        return;
    /* Where it could not be loaded the start has said so. */
    if (strcmp(stats->state, said) != 0)
        log_line(LOG_LEVEL_INFO, "%s", stats->state);
    if (stats->is_paused)
        log_line(LOG_LEVEL_WARNING,
                 "paused, as before the start: windows are disabled until `riptide resume`");
    report_hints(daemon->agent);
}

void state_save_soon(struct daemon *daemon)
{
    daemon->saved_ns = 0;
}

void state_note_saved(struct daemon *daemon, int r, const struct riptide_error *error)
{
    const char *text = log_error_text(error, r);
    size_t n = strlen("state: ");

    if (r < 0 && !daemon->is_state_failing)
        log_line(LOG_LEVEL_WARNING, "state not saved: %s",
                 strncmp(text, "state: ", n) ? text : text + n);
    if (r == 0 && daemon->is_state_failing)
        log_line(LOG_LEVEL_INFO, "state saved again: %s", daemon->settings->state);
    daemon->is_state_failing = r < 0;
}

void state_save(struct daemon *daemon, bool is_synced)
{
    struct riptide_error error = { .text = "" };

    if (daemon->settings->agent.state)
        state_note_saved(daemon, riptide_agent_save(daemon->agent, is_synced, &error), &error);
}

void state_tick(struct daemon *daemon, const struct riptide_tick *tick)
{
    if (daemon->saved_ns != 0 && tick->finished_ns - daemon->saved_ns < SAVE_INTERVAL_NS)
        return;
    /* Not synced: routing changes must not wait for a disk. */
    state_save(daemon, false);
    daemon->saved_ns = tick->finished_ns;
}
