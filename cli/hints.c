/* SPDX-License-Identifier: MIT */
/*
 * Hints and the pause: the agent's calls for requests that change something, and their log lines.
 * The daemon keeps a list of hints with an end, as the agent has no walk over its own.
 */
#include "daemon.h"

#include "clock.h"
#include "explanation.h"
#include "log.h"
#include "prefixes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct riptide_hint *find(struct hints *hints, const struct riptide_prefix *dst)
{
    for (size_t i = 0; i < hints->n; i++) {
        if (prefix_equals(&hints->list[i].dst, dst))
            return &hints->list[i];
    }
    return NULL;
}

/* Room for all that the agent takes, made with the first one. */
static bool put(struct hints *hints, const struct riptide_hint *hint)
{
    struct riptide_hint *place = find(hints, &hint->dst);

    if (!hints->list)
        hints->list = calloc(RIPTIDE_MAX_HINTS, sizeof(*hints->list));
    if (!hints->list || (!place && hints->n == RIPTIDE_MAX_HINTS))
        return false;
    if (!place)
        place = &hints->list[hints->n++];
    *place = *hint;
    return true;
}

size_t hints_count(struct daemon *daemon)
{
    struct hints *hints = &daemon->hints;
    const uint64_t now_ns = clock_read_ns(CLOCK_BOOTTIME);
    size_t n = 0;

    for (size_t i = 0; i < hints->n; i++) {
        if (hints->list[i].until_ns > now_ns)
            hints->list[n++] = hints->list[i];
    }
    hints->n = n;
    return n + daemon->settings->n_overrides;
}

/* "hint=PREFIX cwnd_max=N off=N until_ns=N left_ns=N": its end is by the wall clock. */
static void load_line(struct hints *hints, const char *line)
{
    struct riptide_hint hint = { .off = false };
    uint64_t left_ns;
    char dst[64];
    int off;

    if (sscanf(line, "hint=%63s cwnd_max=%" SCNu32 " off=%d until_ns=%*u left_ns=%" SCNu64, dst,
               &hint.cwnd_max, &off, &left_ns) != 4 ||
        riptide_prefix_parse(&hint.dst, dst) != 0)
        return;
    hint.off = off;
    hint.until_ns = clock_read_ns(CLOCK_BOOTTIME) + left_ns;
    put(hints, &hint);
}

void hints_load(struct daemon *daemon)
{
    size_t size = riptide_agent_get_state(daemon->agent, NULL, 0), n;
    char *text = malloc(size + 1);

    n = text ? riptide_agent_get_state(daemon->agent, text, size) : 0;
    if (n <= size && n > 0) {
        text[n] = '\0';
        for (char *line = text; (line = strstr(line, "\nhint=")); line++)
            load_line(&daemon->hints, line + 1);
    }
    free(text);
    if (daemon->hints.n > 0)
        log_line(LOG_LEVEL_INFO, "hints that go on from before the start: %zu", daemon->hints.n);
}

/* Hints apply to destinations: one for a part of a destination would never have an effect. */
static int check_hinted(const struct daemon *daemon, const struct riptide_prefix *dst,
                        struct riptide_error *error)
{
    const struct riptide_prefix whole = explanation_group(daemon->settings, dst);
    char text[RIPTIDE_PREFIX_TEXT_BYTES], of[RIPTIDE_PREFIX_TEXT_BYTES];

    if (whole.len >= dst->len)
        return 0;
    riptide_prefix_format(dst, text);
    riptide_prefix_format(&whole, of);
    snprintf(error->text, sizeof(error->text), "%s: is part of the destination %s: use that", text,
             of);
    return -EINVAL;
}

static uint32_t count_destinations(struct riptide_agent *agent, const struct riptide_prefix *within)
{
    const struct riptide_window *window;
    uint32_t cursor = 0, n = 0;

    while (riptide_agent_next(agent, &cursor, &window) == 0)
        n += prefix_holds(within, &window->dst);
    return n;
}

int daemon_hint(struct daemon *daemon, struct riptide_hint *hint, uint64_t for_ns,
                uint32_t *destinations, struct riptide_error *error)
{
    char dst[RIPTIDE_PREFIX_TEXT_BYTES], max[32] = "";
    int r = check_hinted(daemon, &hint->dst, error);

    if (r < 0)
        return r;
    *destinations = count_destinations(daemon->agent, &hint->dst);
    hint->until_ns = clock_read_ns(CLOCK_BOOTTIME) + for_ns;
    hints_count(daemon);
    r = riptide_agent_set_hint(daemon->agent, hint, error);
    if (r == 0 && !put(&daemon->hints, hint))
        r = -ENOMEM;
    if (r == RIPTIDE_E_FULL)
        snprintf(error->text, sizeof(error->text), "there are %d hints already", RIPTIDE_MAX_HINTS);
    if (r != 0)
        return r;
    files_save(daemon, false); /* what has changed must outlive a crash */
    riptide_prefix_format(&hint->dst, dst);
    if (hint->cwnd_max > 0)
        snprintf(max, sizeof(max), "at most %" PRIu32, hint->cwnd_max);
    log_line(LOG_LEVEL_INFO, "hint: %s for %.1f s: windows %s", dst, (double)for_ns / 1e9,
             hint->off ? "off" : max);
    return 0;
}

/* A section of the file is a hint as well: only a restart without it removes its bound. */
int daemon_unhint(struct daemon *daemon, const struct riptide_prefix *dst,
                  struct riptide_error *error)
{
    char text[RIPTIDE_PREFIX_TEXT_BYTES];
    struct riptide_hint *hint;
    bool has_section = false;

    hints_count(daemon);
    hint = find(&daemon->hints, dst);
    riptide_prefix_format(dst, text);
    if (hint && riptide_agent_remove_hint(daemon->agent, dst) == 0) {
        *hint = daemon->hints.list[--daemon->hints.n];
        files_save(daemon, false); /* what has changed must outlive a crash */
        log_line(LOG_LEVEL_INFO, "hint: %s: removed", text);
        return 0;
    }
    for (size_t i = 0; i < daemon->settings->n_overrides; i++)
        has_section |= prefix_equals(&daemon->settings->overrides[i].dst, dst);
    snprintf(error->text, sizeof(error->text), "%s: %s", text,
             has_section ? "its bounds are a section of the configuration: remove that from the "
                           "file, and restart riptided"
                         : "there is no hint for it; `riptide hint` lists them");
    return RIPTIDE_E_UNKNOWN;
}

bool daemon_keeps_state(const struct daemon *daemon, const char **reasonp)
{
    *reasonp = daemon->state_failure[0] ? daemon->state_failure : NULL;
    return files_keep_state(daemon) && !*reasonp;
}

int daemon_pause(struct daemon *daemon, bool is_paused, struct riptide_error *error)
{
    int r = riptide_agent_set_paused(daemon->agent, is_paused);

    files_save(daemon, false); /* what has changed must outlive a crash */
    if (r < 0)
        snprintf(error->text, sizeof(error->text),
                 "a rule could not be removed: %s; `riptide flush` removes all", strerror(-r));
    return r;
}
