/* SPDX-License-Identifier: MIT */
/* Requests with changes: the agent's calls, and their log lines. */
#include "daemon.h"

#include "clock.h"
#include "lib/tools.h"
#include "log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint32_t count_destinations(struct riptide_agent *agent, const struct riptide_prefix *within)
{
    const struct riptide_window *window;
    uint32_t cursor = 0, n = 0;

    while (riptide_agent_next(agent, &cursor, &window) == 0)
        n += riptide_prefix_contains(within, &window->dst);
    return n;
}

/* Hints apply to destinations: one for a part of a destination would never have an effect. */
static int check_hinted(const struct daemon *daemon, const struct riptide_prefix *dst,
                        struct riptide_error *error)
{
    char text[RIPTIDE_PREFIX_TEXT_BYTES], whole[RIPTIDE_PREFIX_TEXT_BYTES];
    struct riptide_prefix group;

    riptide_estimator_group(riptide_agent_get_estimator(daemon->agent), dst, &group);
    if (group.len >= dst->len)
        return 0;
    riptide_prefix_format(dst, text);
    riptide_prefix_format(&group, whole);
    snprintf(error->text, sizeof(error->text), "%s: is part of the destination %s: use that", text,
             whole);
    return -EINVAL;
}

int daemon_hint(struct daemon *daemon, struct riptide_hint *hint, uint64_t for_ns,
                uint32_t *destinations, struct riptide_error *error)
{
    char dst[RIPTIDE_PREFIX_TEXT_BYTES], max[32] = "";
    int r = check_hinted(daemon, &hint->dst, error);

    if (r < 0)
        return r;
    *destinations = count_destinations(daemon->agent, &hint->dst);
    if (hint->cwnd_max > 0)
        snprintf(max, sizeof(max), "at most %" PRIu32, hint->cwnd_max);
    hint->until_ns = clock_read_ns(CLOCK_BOOTTIME) + for_ns;
    r = riptide_agent_set_hint(daemon->agent, hint, error);
    if (r == RIPTIDE_E_FULL)
        snprintf(error->text, sizeof(error->text), "there are %d hints already", RIPTIDE_MAX_HINTS);
    riptide_prefix_format(&hint->dst, dst);
    state_save_soon(daemon);
    if (r == 0)
        log_line(LOG_LEVEL_INFO, "hint: %s for %.1f s: windows %s", dst, (double)for_ns / 1e9,
                 hint->off ? "off" : max);
    return r;
}

/* A section of the file is a hint as well: only a restart without it removes its bound. */
int daemon_unhint(struct daemon *daemon, const struct riptide_prefix *dst,
                  struct riptide_error *error)
{
    const struct riptide_estimator *estimator = riptide_agent_get_estimator(daemon->agent);
    bool has_section = false, has_end = false;
    char text[RIPTIDE_PREFIX_TEXT_BYTES];
    struct riptide_hint hint;
    uint32_t cursor = 0;

    while (riptide_estimator_next_hint(estimator, &cursor, &hint) == 0) {
        if (!riptide_prefix_equal(&hint.dst, dst))
            continue;
        has_section |= hint.until_ns == RIPTIDE_NEVER_NS;
        has_end |= hint.until_ns != RIPTIDE_NEVER_NS;
    }
    riptide_prefix_format(dst, text);
    if (has_end && riptide_agent_remove_hint(daemon->agent, dst) == 0) {
        state_save_soon(daemon);
        log_line(LOG_LEVEL_INFO, "hint: %s: removed", text);
        return 0;
    }
    snprintf(error->text, sizeof(error->text), "%s: %s", text,
             has_section ? "its bounds are a section of the configuration: remove that from the "
                           "file, and restart riptided"
                         : "there is no hint for it; `riptide hint` lists them");
    return RIPTIDE_E_UNKNOWN;
}

bool daemon_keeps_state(const struct daemon *daemon)
{
    return daemon->settings->agent.state && !daemon->settings->applier.dry_run;
}

int daemon_pause(struct daemon *daemon, bool is_paused, struct riptide_error *error)
{
    int r = riptide_agent_set_paused(daemon->agent, is_paused);

    state_save_soon(daemon);
    if (r < 0)
        snprintf(error->text, sizeof(error->text),
                 "a rule could not be removed: %s; `riptide flush` removes all", strerror(-r));
    return r;
}
