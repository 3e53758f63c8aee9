/* SPDX-License-Identifier: MIT */
#include "answers.h"

#include "clock.h"
#include "daemon.h"
#include "log.h"
#include "members.h"
#include "socket.h"
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static json_t *hint_json(const struct riptide_hint *hint, uint64_t for_ms)
{
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];

    riptide_prefix_format(&hint->dst, dst);
    return json_pack("{s:s, s:b, s:o, s:I}", "dst", dst, "off", hint->off, "cwnd_max",
                     figure_or_null(hint->cwnd_max), "for_ms", (json_int_t)for_ms);
}

json_t *answer_hints(struct daemon *daemon, const struct request *request,
                     struct riptide_error *error)
{
    const uint64_t now_ns = clock_read_ns(CLOCK_BOOTTIME);
    json_t *hints = json_array();
    struct riptide_hint hint;
    uint32_t cursor = 0;

    while (hints_next(daemon->agent, &cursor, &hint)) {
        const uint64_t left_ns = hint.until_ns > now_ns ? hint.until_ns - now_ns : 0;

        json_array_append_new(hints, hint_json(&hint, left_ns / NS_PER_MS));
    }
    return json_pack("{s:o}", "hints", hints);
}

/* A change must outlive a crash. Adds to its answer whether it does, and if not why. */
static json_t *keep_change(struct daemon *daemon, json_t *answer)
{
    const struct files *files = &daemon->files;

    files_save(&daemon->files, false);
    add_flag(&answer, "is_kept", files_keep_state(files) && !files->state_failure[0]);
    add_member(&answer, "reason", text_or_null(files->state_failure));
    return answer;
}

static int check_hint(const struct daemon *daemon, const struct request *request,
                      struct riptide_error *error)
{
    const struct settings *settings = daemon->settings;
    /* Of all destinations: a hint above it would lower nothing. */
    uint32_t largest = settings->estimator.cwnd_max;
    /* With `off` it is not needed. */
    const json_int_t least = request->off ? 0 : 1;

    for (size_t i = 0; i < settings->n_overrides; i++) {
        if (settings->overrides[i].cwnd_max > largest)
            largest = settings->overrides[i].cwnd_max;
    }
    if (request->cwnd_max < least || request->cwnd_max > largest)
        return refuse(error, -EINVAL,
                      "at most %" JSON_INTEGER_FORMAT ": must be 1 to %" PRIu32
                      ", the largest cwnd-max; --off: no window",
                      request->cwnd_max, largest);
    if (request->for_ms <= 0 || request->for_ms > REQUEST_MAX_HINT_MS)
        return refuse(error, -EINVAL, "--for (for_ms): a hint lasts 1 ms to 366 d");
    return 0;
}

static void log_hint(const struct riptide_hint *hint, const char *dst, json_int_t for_ms)
{
    const struct log_fields fields = {
        .event = "hint",
        .destination = dst,
        .window = hint->off ? 0 : hint->cwnd_max,
    };
    char windows[32] = "off", span[TEXT_SPAN_BYTES];

    if (!hint->off)
        snprintf(windows, sizeof(windows), "at most %" PRIu32, hint->cwnd_max);
    log_event(LOG_INFO, &fields, "hint: %s for %s: windows %s", dst,
              text_span(span, (double)for_ms / 1e3), windows);
}

json_t *answer_hint(struct daemon *daemon, const struct request *request,
                    struct riptide_error *error)
{
    struct riptide_hint hint = {
        .dst = request->dst,
        .cwnd_max = (uint32_t)request->cwnd_max,
        .off = request->off,
        .until_ns = clock_read_ns(CLOCK_BOOTTIME) + (uint64_t)request->for_ms * NS_PER_MS,
    };
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];

    if (check_hint(daemon, request, error) < 0 || hints_add(daemon->agent, &hint, error) != 0)
        return NULL;
    riptide_prefix_format(&hint.dst, dst);
    log_hint(&hint, dst, request->for_ms);
    return keep_change(daemon, hint_json(&hint, (uint64_t)request->for_ms));
}

/* Only those with an end: a section of the file is a hint of the agent as well. */
json_t *answer_unhint(struct daemon *daemon, const struct request *request,
                      struct riptide_error *error)
{
    char text[RIPTIDE_PREFIX_TEXT_BYTES];
    struct riptide_hint hint;

    riptide_prefix_format(&request->dst, text);
    if (!hints_find(daemon->agent, &request->dst, &hint) ||
        riptide_agent_remove_hint(daemon->agent, &request->dst) != 0) {
        refuse(error, -ENOENT, "%s: there is no hint for it; `riptide hint` lists them", text);
        return NULL;
    }
    log_event(LOG_INFO, &(struct log_fields){ .event = "unhint", .destination = text },
              "hint: %s: removed", text);
    return keep_change(daemon, json_pack("{s:s}", "removed", text));
}

json_t *answer_pause(struct daemon *daemon, const struct request *request,
                     struct riptide_error *error)
{
    const bool is_paused = strcmp(request->verb, "pause") == 0;
    int r = riptide_agent_set_paused(daemon->agent, is_paused);

    if (r < 0) {
        refuse(error, r, "a rule could not be removed: %s; `riptide flush` removes all",
               strerror(-r));
        return NULL;
    }
    return keep_change(daemon, json_pack("{s:b, s:f}", "paused", is_paused, "suspended_s",
                                         health_suspended_s(&daemon->health)));
}
