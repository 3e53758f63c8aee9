/* SPDX-License-Identifier: MIT */
/*
 * Hints and the pause: requests that change something, and their log lines. The agent has no walk
 * over its hints: those with an end are read from its state.
 */
#include "daemon.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

int hints_add(struct daemon *daemon, const struct riptide_hint *hint, struct riptide_error *error)
{
    int r = riptide_agent_set_hint(daemon->agent, hint, error);
    const struct riptide_error given = *error;
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];

    riptide_prefix_format(&hint->dst, dst);
    if (r == RIPTIDE_E_FULL)
        refuse(error, r, "there are %d hints already", RIPTIDE_MAX_HINTS);
    else if (given.field && strcmp(given.field, "hint.dst") == 0)
        refuse(error, r, "%s%s (prefix-len4, -len6)", dst, strchr(given.text, ':'));
    return r;
}

size_t hints_count(struct daemon *daemon)
{
    const uint64_t now_ns = clock_read_ns(CLOCK_BOOTTIME);
    size_t n = 0;

    for (size_t i = 0; i < daemon->n_hints; i++) {
        if (daemon->hints[i].until_ns > now_ns)
            daemon->hints[n++] = daemon->hints[i];
    }
    daemon->n_hints = n;
    return n;
}

const struct riptide_hint *hints_find(struct daemon *daemon, const struct riptide_prefix *dst)
{
    size_t i = hints_count(daemon);

    while (i > 0 && memcmp(&daemon->hints[i - 1].dst, dst, sizeof(*dst)) != 0)
        i--;
    return i > 0 ? &daemon->hints[i - 1] : NULL;
}

/* The agent has no more of them than the list has room for. */
void hints_read(struct daemon *daemon)
{
    const uint64_t now_ns = clock_read_ns(CLOCK_BOOTTIME);
    char *text = riptide_agent_get_state(daemon->agent), *line = text, dst[64];
    uint64_t left_ns;
    int off;

    daemon->n_hints = 0;
    for (; line && (line = strstr(line, "\nhint=")); line++) {
        struct riptide_hint hint = { .cwnd_min = 0 };

        /* Its end is by the wall clock there. */
        if (sscanf(line, "\nhint=%63s cwnd_max=%" SCNu32 " off=%d until_ns=%*u left_ns=%" SCNu64,
                   dst, &hint.cwnd_max, &off, &left_ns) != 4 ||
            riptide_prefix_parse(&hint.dst, dst) != 0)
            continue;
        hint.off = off;
        hint.until_ns = now_ns + left_ns;
        daemon->hints[daemon->n_hints++] = hint;
    }
    free(text);
}

json_t *answer_hints(struct daemon *daemon, const struct request *request,
                     struct riptide_error *error)
{
    const uint64_t now_ns = clock_read_ns(CLOCK_BOOTTIME);
    const size_t n = hints_count(daemon);
    json_t *hints = json_array();
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];

    for (size_t i = 0; i < n; i++) {
        const struct riptide_hint *hint = &daemon->hints[i];

        riptide_prefix_format(&hint->dst, dst);
        json_array_append_new(hints, json_pack("{s:s, s:b, s:o, s:I}", "dst", dst, "off", hint->off,
                                               "cwnd_max", figure_or_null(hint->cwnd_max), "for_ms",
                                               (json_int_t)((hint->until_ns - now_ns) / 1000000)));
    }
    return json_pack("{s:o}", "hints", hints);
}

/* A change must outlive a crash. Adds to its answer whether it does, and if not why. */
static json_t *keep_change(struct daemon *daemon, json_t *answer)
{
    files_save(daemon, false);
    json_object_set_new(answer, "is_kept",
                        json_boolean(files_keep_state(daemon) && !daemon->state_failure[0]));
    json_object_set_new(answer, "reason", text_or_null(daemon->state_failure));
    return answer;
}

json_t *answer_hint(struct daemon *daemon, const struct request *request,
                    struct riptide_error *error)
{
    const struct settings *settings = daemon->settings;
    uint32_t largest = settings->estimator.cwnd_max;
    struct riptide_hint hint = {
        .dst = request->dst,
        .cwnd_max = (uint32_t)request->cwnd_max,
        .off = request->off,
        .until_ns = clock_read_ns(CLOCK_BOOTTIME) + (uint64_t)request->for_ms * 1000000,
    };
    char dst[RIPTIDE_PREFIX_TEXT_BYTES], most[32], span[TEXT_SPAN_BYTES];

    riptide_prefix_format(&hint.dst, dst);
    /* Of all destinations: a hint above it would lower nothing. */
    for (size_t i = 0; i < settings->n_overrides; i++) {
        if (settings->overrides[i].cwnd_max > largest)
            largest = settings->overrides[i].cwnd_max;
    }
    if (request->cwnd_max < !request->off || request->cwnd_max > largest) {
        refuse(error, -EINVAL,
               "at most %" JSON_INTEGER_FORMAT ": must be 1 to %" PRIu32
               ", the largest cwnd-max; --off: no window",
               request->cwnd_max, largest);
        return NULL;
    }
    if (request->for_ms <= 0 || request->for_ms > REQUEST_MAX_HINT_MS) {
        refuse(error, -EINVAL, "--for (for_ms): a hint lasts 1 ms to 366 d");
        return NULL;
    }
    if (hints_add(daemon, &hint, error) != 0)
        return NULL;
    hints_read(daemon);
    snprintf(most, sizeof(most), "at most %" PRIu32, hint.cwnd_max);
    log_event(LOG_INFO,
              &(struct log_fields){
                  .event = "hint", .destination = dst, .window = hint.off ? 0 : hint.cwnd_max },
              "hint: %s for %s: windows %s", dst, text_span(span, (double)request->for_ms / 1e3),
              hint.off ? "off" : most);
    return keep_change(daemon,
                       json_pack("{s:s, s:b, s:o, s:I}", "dst", dst, "off", hint.off, "cwnd_max",
                                 figure_or_null(hint.cwnd_max), "for_ms", request->for_ms));
}

/* Only those with an end: a section of the file is a hint of the agent as well. */
json_t *answer_unhint(struct daemon *daemon, const struct request *request,
                      struct riptide_error *error)
{
    char text[RIPTIDE_PREFIX_TEXT_BYTES];

    riptide_prefix_format(&request->dst, text);
    if (!hints_find(daemon, &request->dst) ||
        riptide_agent_remove_hint(daemon->agent, &request->dst) != 0) {
        refuse(error, -ENOENT, "%s: there is no hint for it; `riptide hint` lists them", text);
        return NULL;
    }
    hints_read(daemon);
    log_event(LOG_INFO, &(struct log_fields){ .event = "unhint", .destination = text },
              "hint: %s: removed", text);
    return keep_change(daemon, json_pack("{s:s}", "removed", text));
}

json_t *answer_pause(struct daemon *daemon, const struct request *request,
                     struct riptide_error *error)
{
    const bool is_paused = !strcmp(request->verb, "pause");
    int r = riptide_agent_set_paused(daemon->agent, is_paused);

    if (r < 0) {
        refuse(error, r, "a rule could not be removed: %s; `riptide flush` removes all",
               strerror(-r));
        return NULL;
    }
    return keep_change(daemon, json_pack("{s:b, s:f}", "paused", is_paused, "suspended_s",
                                         health_suspended_s(daemon)));
}
