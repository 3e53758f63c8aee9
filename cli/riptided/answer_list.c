/* SPDX-License-Identifier: MIT */
#include "answers.h"

#include "cidr.h"
#include "daemon.h"
#include "diagnosis.h"
#include "members.h"
#include "placed.h"
#include "text.h"

#include <errno.h>

/* Destinations in one answer, and those that it looks at, which takes a millisecond. */
enum { PAGE = 256, MAX_LOOKS = 4096 };

/* What the elements of a row are: readers find them by these names. */
static json_t *columns_json(void)
{
    return json_pack("[s, s, s, s, s, s]", "dst", "window", "by", "connections", "min_rtt_us",
                     "reason");
}

/*
 * A window in force, or why there is none; while windows are off, the learned one. An array, as
 * objects would take five times the work at both ends.
 */
static json_t *row_json(const struct riptide_window *window, bool is_off)
{
    /* One that is held back to what connections have without us is none. */
    const bool is_given = is_off || window->reason_code == RIPTIDE_REASON_NONE;
    bool (*const is_of)(const struct riptide_route *) =
        is_off ? placed_is_applied : placed_is_in_force;
    const struct riptide_estimate nothing = { .samples = 0 };
    const struct riptide_estimate *estimate = window->estimate ? window->estimate : &nothing;
    const struct riptide_route *given = NULL; /* by the backend that decides */
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];
    uint32_t by = 0; /* enum riptide_backend */

    if (is_given && is_of(window->route)) {
        given = window->route;
        by |= window->route->backend;
    }
    /* The program decides where both give one. */
    if (is_given && is_of(window->program)) {
        given = window->program;
        by |= window->program->backend;
    }
    riptide_prefix_format(&window->dst, dst);
    return json_pack("[s, I, o, I, I, o]", dst, (json_int_t)(given ? given->initcwnd : 0),
                     text_or_null(given ? riptide_name(RIPTIDE_NAMES_BACKEND, by) : NULL),
                     (json_int_t)estimate->samples, (json_int_t)estimate->min_rtt_us,
                     text_or_null(given ? NULL : window->reason));
}

/* Why no window is given, by choice; NULL: windows are not off. */
static const char *why_all_off(const struct daemon *daemon)
{
    if (daemon->settings->applier.dry_run)
        return "a dry run";
    if (riptide_agent_get_stats(daemon->agent)->is_paused)
        return "paused, until riptide resume";
    return health_suspended_s(&daemon->health) > 0 ? "suspended, as windows did harm" : NULL;
}

static bool is_listed(const struct riptide_window *window, const struct request *request)
{
    if (window->reason_code == RIPTIDE_REASON_PENDING)
        return false;
    return request->dst.family == 0 || cidr_contains(&request->dst, &window->dst);
}

json_t *answer_show(struct daemon *daemon, const struct request *request,
                    struct riptide_error *error)
{
    const char *off = why_all_off(daemon), *but = NULL;
    const struct riptide_window *window;
    json_t *rows, *next = NULL;
    uint32_t cursor = (uint32_t)request->from;
    struct diagnosis missed;

    if (request->from < 0 || request->from > UINT32_MAX) {
        refuse(error, -EINVAL, "from: not `next` of an earlier answer");
        return NULL;
    }
    rows = json_array();
    for (int i = 0; i < MAX_LOOKS && json_array_size(rows) < PAGE && !next; i++) {
        if (riptide_agent_next(daemon->agent, &cursor, &window) != 0)
            next = json_null();
        else if (is_listed(window, request))
            json_array_append_new(rows, row_json(window, off != NULL));
    }
    if (diagnosis_find_missed(&daemon->health, &missed))
        but = missed.reason.text;
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "routes", rows, "next",
                     next ? next : json_integer(cursor), "columns", columns_json(), "off",
                     text_or_null(off), "but", text_or_null(but));
}
