/* SPDX-License-Identifier: MIT */
/*
 * An estimator's state in a file. What the text means is lib/compute/state.c's.
 */
#include "agent/clock.h"
#include "internal.h"
#include "tools.h"

#include <errno.h>
#include <riptide/agent.h>
#include <stdlib.h>
#include <string.h>

RIPTIDE_PUBLIC int riptide_state_save(const struct riptide_estimator *estimator, const char *path,
                                      struct riptide_error *error)
{
    uint64_t now_ns = read_clock(CLOCK_BOOTTIME), realtime_ns = read_clock(CLOCK_REALTIME);
    size_t n = riptide_estimator_save(estimator, now_ns, realtime_ns, NULL, 0);
    CLEANUP(freep) char *text = malloc(n);

    if (!text) {
        error_set(error, "%s: %s", path, strerror(ENOMEM));
        return -ENOMEM;
    }
    n = riptide_estimator_save(estimator, now_ns, realtime_ns, text, n);
    return riptide_file_write(path, text, n, RIPTIDE_STATE_MODE, true, error);
}

RIPTIDE_PUBLIC int riptide_state_load(struct riptide_estimator *estimator, const char *path,
                                      struct riptide_load_counts *counts,
                                      struct riptide_error *error)
{
    CLEANUP(freep) void *text = NULL;
    struct riptide_error reason = { .text = "" };
    size_t n = 0;
    int r = riptide_file_read(path, RIPTIDE_STATE_MAX_BYTES, &text, &n, error);

    if (r < 0)
        return r;
    r = riptide_estimator_load(estimator, read_clock(CLOCK_BOOTTIME), read_clock(CLOCK_REALTIME),
                               text, n, false, counts, &reason);
    if (r != 0)
        error_set(error, "%s: %s", path, reason.text);
    return r;
}
