/* SPDX-License-Identifier: MIT */
/*
 * When state is loaded and saved, and what is said about it. The file itself is the library's.
 */
#include "daemon.h"

#include "lib/tools.h"
#include "log.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* How much may be lost where the power fails. */
#define SAVE_INTERVAL_NS UINT64_C(60000000000)

/* NULL where nothing is kept. */
static const char *find_path(const struct daemon *daemon)
{
    const char *path = daemon->settings->state;

    return path && strcmp(path, "none") ? path : NULL;
}

static void remove_left(const char *path)
{
    char pattern[PATH_MAX];
    glob_t left;

    if (!path)
        return;
    snprintf(pattern, sizeof(pattern), "%s.tmp-??????", path);
    if (glob(pattern, GLOB_NOESCAPE, NULL, &left) != 0)
        return;
    for (size_t i = 0; i < left.gl_pathc; i++)
        unlink(left.gl_pathv[i]);
    globfree(&left);
}

void state_remove_left(const struct daemon *daemon)
{
    remove_left(find_path(daemon));
    remove_left(daemon->settings->metrics);
}

void state_load(const struct daemon *daemon)
{
    const char *path = find_path(daemon);
    struct riptide_load_counts counts;
    struct riptide_error error, outcomes;
    int r;

    if (!path)
        return;
    r = riptide_state_read(daemon->agent, path, &counts, &outcomes, &error);
    if (r == 0)
        log_line(LOG_LEVEL_INFO,
                 "%s: destinations taken over: %" PRIu32 ", expired: %" PRIu32 ", others: %" PRIu32
                 "; %s",
                 path, counts.loaded, counts.expired,
                 counts.skipped + counts.older + counts.regrouped + counts.overflow, outcomes.text);
    else if (outcomes.text[0])
        log_line(LOG_LEVEL_WARNING, "%s; no destinations taken over; %s", log_error_text(&error, r),
                 outcomes.text);
    else
        log_line(r == -ENOENT ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING, "%s; starting empty",
                 log_error_text(&error, r));
}

void state_save(struct daemon *daemon, bool is_synced)
{
    const char *path = find_path(daemon);
    struct riptide_error error = { .text = "" };
    int r;

    if (!path)
        return;
    r = riptide_state_write(daemon->agent, path, is_synced, &error);
    if (r < 0 && !daemon->is_state_failing)
        log_line(LOG_LEVEL_WARNING, "state not kept: %s", log_error_text(&error, r));
    if (r == 0 && daemon->is_state_failing)
        log_line(LOG_LEVEL_INFO, "state kept again: %s", path);
    daemon->is_state_failing = r < 0;
}

void state_tick(struct daemon *daemon, const struct riptide_tick *tick)
{
    if (daemon->saved_ns != 0 && tick->finished_ns - daemon->saved_ns < SAVE_INTERVAL_NS)
        return;
    /* Not synced: routes that move must not wait for a disk. */
    state_save(daemon, false);
    daemon->saved_ns = tick->finished_ns;
}
