/* SPDX-License-Identifier: MIT */
/* The answer about destinations: a list of all, in pages. Of one: explain.c. */
#include "daemon.h"

#include "cidr.h"
#include "members.h"
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>

/* Destinations in one answer, and those that it looks at, which takes a millisecond. */
enum { PAGE = 256, MAX_LOOKS = 4096 };

struct riptide_prefix destinations_group(const struct settings *settings,
                                         const struct riptide_prefix *peer)
{
    const struct riptide_estimator_config *config = &settings->estimator;
    struct riptide_prefix host = *peer;

    host.len = cidr_host_len(host.family);
    return cidr_cut(&host, peer->family == AF_INET ? config->prefix_len4 : config->prefix_len6);
}

void destinations_describe(const struct riptide_route *route, char text[256])
{
    const char *state = riptide_name(RIPTIDE_NAMES_ROUTE_STATE, route->state);
    const char *reason = route->reason;

    if (route->state == RIPTIDE_ROUTE_WITHDRAWN && !*reason)
        reason = "by its time to live, or a hint";
    if (route->state == RIPTIDE_ROUTE_APPLIED)
        snprintf(text, 256, "%s: initcwnd %" PRIu32 "%s", state, route->initcwnd,
                 route->backend == RIPTIDE_PROGRAM ? " by the program" : "");
    else if (route->state == RIPTIDE_ROUTE_FAILED)
        snprintf(text, 256, "%s: initcwnd %" PRIu32 ": %s%s%s", state, route->initcwnd, reason,
                 *reason ? ": " : "", strerror(-route->error));
    else
        snprintf(text, 256, "%s: %s", state, reason);
}

/* An array, as objects would take five times the work at both ends. */
static json_t *row_json(const struct riptide_window *window)
{
    const bool has_route = window->route && window->route->state == RIPTIDE_ROUTE_APPLIED;
    const bool has_program = window->program && window->program->state == RIPTIDE_ROUTE_APPLIED;
    const struct riptide_route *given = has_program ? window->program : window->route;
    const struct riptide_estimate *estimate = window->estimate;
    char dst[RIPTIDE_PREFIX_TEXT_BYTES], reason[256] = "";
    const char *by = NULL;

    riptide_prefix_format(&window->dst, dst);
    if (has_program)
        by = riptide_name(RIPTIDE_NAMES_BACKEND, has_route ? RIPTIDE_BOTH : RIPTIDE_PROGRAM);
    else if (has_route)
        by = riptide_name(RIPTIDE_NAMES_BACKEND, RIPTIDE_ROUTES);
    else
        destinations_describe(given ? given : window->program, reason);
    return json_pack("[s, I, s?, I, I, o]", dst, by ? (json_int_t)given->initcwnd : 0, by,
                     estimate ? (json_int_t)estimate->samples : 0,
                     estimate ? (json_int_t)estimate->min_rtt_us : 0, text_or_null(reason));
}

/* Why no window is given, or not all; empty: all are. */
static void explain_off(const struct daemon *daemon, char off[256])
{
    struct diagnosis diagnosis;

    health_diagnose(daemon, &diagnosis);
    if (daemon->settings->applier.dry_run)
        snprintf(off, 256, "a dry run");
    else if (strcmp(diagnosis.word, "paused") == 0)
        snprintf(off, 256, "paused, until riptide resume");
    else if (!strcmp(diagnosis.word, "off") || !strcmp(diagnosis.word, "degraded") ||
             !strcmp(diagnosis.word, "suspended"))
        snprintf(off, 256, "%s", diagnosis.reason);
}

json_t *answer_show(struct daemon *daemon, const struct request *request,
                    struct riptide_error *error)
{
    char off[256] = "";
    uint32_t cursor = (uint32_t)request->from;
    const struct riptide_window *window;
    json_t *rows, *next = NULL;

    if (request->from < 0 || request->from > UINT32_MAX) {
        refuse(error, -EINVAL, "from: not `next` of an earlier answer");
        return NULL;
    }
    if (request->from == 0)
        explain_off(daemon, off);
    rows = json_array();
    for (int i = 0; i < MAX_LOOKS && json_array_size(rows) < PAGE && !next; i++) {
        if (riptide_agent_next(daemon->agent, &cursor, &window) != 0)
            next = json_null();
        else if ((window->route || window->program) &&
                 (!request->dst.family || cidr_contains(&request->dst, &window->dst)))
            json_array_append_new(rows, row_json(window));
    }
    return json_pack("{s:o, s:o, s:[s, s, s, s, s, s], s:o}", "routes", rows, "next",
                     next ? next : json_integer(cursor), "columns", "dst", "window", "by",
                     "connections", "min_rtt_us", "reason", "off", text_or_null(off));
}
