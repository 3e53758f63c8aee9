/* SPDX-License-Identifier: MIT */
#include "answers.h"

#include "cidr.h"
#include "daemon.h"
#include "diagnosis.h"
#include "members.h"
#include "placed.h"
#include "text.h"
#include "words.h"

#include <errno.h>

/* Destinations in one answer, and those that it looks at, which takes a millisecond. */
enum { PAGE = 256, MAX_LOOKS = 4096 };

/* A destination of the list. */
struct row {
    const struct riptide_window *window;
    const struct riptide_route *given; /* by the backend that decides; NULL: no window is given */
    uint32_t by;                       /* enum riptide_backend; 0: none */
};

static json_t *put_dst(const struct row *row)
{
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];

    riptide_prefix_format(&row->window->dst, dst);
    return json_string(dst);
}

static json_t *put_window(const struct row *row)
{
    return json_integer(row->given ? row->given->initcwnd : 0);
}

static json_t *put_by(const struct row *row)
{
    return row->given ? json_string(riptide_name(RIPTIDE_NAMES_BACKEND, row->by)) : json_null();
}

static json_t *put_connections(const struct row *row)
{
    return json_integer(row->window->estimate ? row->window->estimate->samples : 0);
}

static json_t *put_min_rtt(const struct row *row)
{
    return json_integer(row->window->estimate ? row->window->estimate->min_rtt_us : 0);
}

static json_t *put_reason(const struct row *row)
{
    char reason[WORDS_BYTES];

    if (row->given)
        return json_null();
    words_route(row->window->route ? row->window->route : row->window->program, reason);
    return text_or_null(reason);
}

/* What the elements of a row are; readers go by the names. */
static const struct {
    const char *name;
    json_t *(*put)(const struct row *row);
} columns[] = {
    { "dst", put_dst },
    { "window", put_window },
    { "by", put_by },
    { "connections", put_connections },
    { "min_rtt_us", put_min_rtt },
    { "reason", put_reason },
};

#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

static json_t *columns_json(void)
{
    json_t *names = json_array();

    for (size_t i = 0; i < N_COLUMNS; i++)
        json_array_append_new(names, json_string(columns[i].name));
    return names;
}

/*
 * A window in force, or why there is none; while windows are off, the learned one. An array, as
 * objects would take five times the work at both ends.
 */
static json_t *row_json(const struct riptide_window *window, bool is_off)
{
    bool (*const is_given)(const struct riptide_route *) =
        is_off ? placed_is_applied : placed_is_in_force;
    struct row row = { .window = window };
    json_t *elements = json_array();

    if (is_given(window->route)) {
        row.given = window->route;
        row.by |= window->route->backend;
    }
    /* The program decides where both give one. */
    if (is_given(window->program)) {
        row.given = window->program;
        row.by |= window->program->backend;
    }
    for (size_t i = 0; i < N_COLUMNS; i++)
        json_array_append_new(elements, columns[i].put(&row));
    return elements;
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
    if (!window->route && !window->program)
        return false;
    return request->dst.family == 0 || cidr_contains(&request->dst, &window->dst);
}

json_t *answer_show(struct daemon *daemon, const struct request *request,
                    struct riptide_error *error)
{
    const char *off = why_all_off(daemon), *but = NULL;
    const struct riptide_window *window;
    json_t *rows, *next = NULL, *answer;
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
    answer = json_object();
    add_member(&answer, "routes", rows);
    add_member(&answer, "next", next ? next : json_integer(cursor));
    add_member(&answer, "columns", columns_json());
    if (diagnosis_find_missed(&daemon->health, &missed))
        but = missed.reason.text;
    add_member(&answer, "off", text_or_null(off));
    add_member(&answer, "but", text_or_null(but));
    return answer;
}
