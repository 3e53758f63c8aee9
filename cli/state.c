/* SPDX-License-Identifier: MIT */
/* Loading and saving the state, and the log lines about it. The library does the files. */
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

/* NULL: no state is saved. */
static const char *find_path(const struct daemon *daemon)
{
    const char *path = daemon->settings->state;

    return path && strcmp(path, "none") ? path : NULL;
}

/* Not glob(3): its home directories would link resolvers into a static riptided. */
static void remove_left(const char *path)
{
    DIR *dir = path ? riptide_directory_open(path) : NULL;
    const char *slash = path ? strrchr(path, '/') : NULL, *name = slash ? slash + 1 : path;
    size_t n = path ? strlen(name) : 0;
    const struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        if (!strncmp(entry->d_name, name, n) && !strncmp(entry->d_name + n, ".tmp-", 5) &&
            strlen(entry->d_name + n + 5) == 6) {
            /* NOLINTNEXTLINE(clang-analyzer-unix.StdCLibraryFunctions): dirfd cannot fail here */
            unlinkat(dirfd(dir), entry->d_name, 0);
        }
    }
    if (dir)
        closedir(dir);
}

void state_remove_left(const struct daemon *daemon)
{
    remove_left(find_path(daemon));
    remove_left(daemon->settings->metrics);
}

static void report_hints(struct riptide_agent *agent)
{
    struct riptide_hint hint;
    uint32_t cursor = 0, n = 0;

    while (riptide_agent_next_hint(agent, &cursor, &hint) == 0)
        n += hint.until_ns != RIPTIDE_NEVER_NS;
    if (n > 0)
        log_line(LOG_LEVEL_INFO, "hints that go on from before the start: %" PRIu32, n);
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
                 "%s: destinations loaded: %" PRIu32 ", expired: %" PRIu32 ", others: %" PRIu32
                 "; %s",
                 path, counts.loaded, counts.expired,
                 counts.skipped + counts.older + counts.regrouped + counts.overflow, outcomes.text);
    else if (outcomes.text[0])
        log_line(LOG_LEVEL_WARNING, "%s; no destinations loaded; %s", log_error_text(&error, r),
                 outcomes.text);
    else
        log_line(r == -ENOENT ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING, "%s; starting empty",
                 log_error_text(&error, r));
    if (riptide_agent_get_stats(daemon->agent)->is_paused)
        log_line(LOG_LEVEL_WARNING,
                 "paused, as before the start: windows are disabled until `riptide resume`");
    report_hints(daemon->agent);
}

void state_save_soon(struct daemon *daemon)
{
    daemon->saved_ns = 0;
}

void state_save(struct daemon *daemon, bool is_synced)
{
    const char *path = find_path(daemon);
    struct riptide_error error = { .text = "" };
    int r;

    if (!path || daemon->settings->applier.dry_run)
        return;
    r = riptide_state_write(daemon->agent, path, is_synced, &error);
    if (r < 0 && !daemon->is_state_failing)
        log_line(LOG_LEVEL_WARNING, "state not saved: %s", log_error_text(&error, r));
    if (r == 0 && daemon->is_state_failing)
        log_line(LOG_LEVEL_INFO, "state saved again: %s", path);
    daemon->is_state_failing = r < 0;
}

void state_tick(struct daemon *daemon, const struct riptide_tick *tick)
{
    if (daemon->saved_ns != 0 && tick->finished_ns - daemon->saved_ns < SAVE_INTERVAL_NS)
        return;
    /* Not synced: routing changes must not wait for a disk. */
    state_save(daemon, false);
    daemon->saved_ns = tick->finished_ns;
}
