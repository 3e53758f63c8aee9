/* SPDX-License-Identifier: MIT */
/* Requests by name: their members, who may send them, their answers. */
#include "request.h"

#include "members.h"
#include "prefixes.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct call;

/* Returns the answer, or NULL with a line in call->error (or without memory for one). */
typedef json_t *verb_function(struct call *call);

struct verb {
    const char *name;
    bool changes;                          /* root and the control group only */
    verb_function *run;                    /* NULL: it takes no members, and `ask` answers */
    json_t *(*ask)(struct daemon *daemon); /* NULL without memory */
};

/* Data of a request while it is processed. */
struct call {
    struct daemon *daemon;
    json_t *document;
    const struct verb *verb;
    struct riptide_error error; /* why it failed */
};

static void fail(struct call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void fail(struct call *call, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(call->error.text, sizeof(call->error.text), format, args);
    va_end(args);
}

/* Reads the request's members; refuses missing or unknown ones, and wrong types. */
static bool take_members(struct call *call, const char *format, ...)
{
    json_error_t error;
    va_list args;
    int r;

    va_start(args, format);
    r = json_vunpack_ex(call->document, &error, JSON_STRICT, format, args);
    va_end(args);
    if (r < 0)
        fail(call, "wrong member: %s", error.text);
    return r == 0;
}

static bool take_prefix(struct call *call, const char *text, struct riptide_prefix *prefix)
{
    if (riptide_prefix_parse(prefix, text) == 0)
        return true;
    fail(call, "%s: not a prefix", text);
    return false;
}

/* Destinations that one answer looks at, of which few may be within a prefix: 1 ms. */
enum { MAX_LOOKS = 4096 };

/* An array, as objects would take five times the work at both ends. */
static json_t *row_json(const struct request_row *row)
{
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];

    riptide_prefix_format(&row->dst, dst);
    return json_pack("[s, I, s, I, I, o]", dst, (json_int_t)row->window, row->by,
                     (json_int_t)row->connections, (json_int_t)row->min_rtt_us,
                     text_or_null(row->reason[0] ? row->reason : NULL));
}

/*
 * A page of destinations, by looking at a bounded number of them. `columns` names the elements of
 * all rows once.
 */
static json_t *run_show(struct call *call)
{
    struct riptide_prefix within = { .family = 0 };
    json_t *rows, *next = NULL, *answer;
    const char *prefix = NULL;
    struct request_row row;
    json_int_t from = 0;
    uint32_t cursor;
    int n_rows = 0;

    if (!take_members(call, "{s?s, s?I}", "prefix", &prefix, "from", &from) ||
        (prefix && !take_prefix(call, prefix, &within)))
        return NULL;
    if (from < 0 || from > UINT32_MAX) {
        fail(call, "from: not `next` of an earlier answer");
        return NULL;
    }
    cursor = (uint32_t)from;
    rows = json_array();
    for (int i = 0; i < MAX_LOOKS && n_rows < REQUEST_PAGE && !next; i++) {
        if (!daemon_next(call->daemon, &cursor, &row)) {
            next = json_null();
        } else if (!within.family || prefix_holds(&within, &row.dst)) {
            json_array_append_new(rows, row_json(&row));
            n_rows++;
        }
    }
    answer = json_pack("{s:o, s:o, s:[s, s, s, s, s, s]}", "routes", rows, "next",
                       next ? next : json_integer(cursor), "columns", "dst", "window", "by",
                       "connections", "min_rtt_us", "reason");
    json_object_update_new(answer, daemon_list(call->daemon));
    return answer;
}

static json_t *run_explain(struct call *call)
{
    struct riptide_prefix dst;
    const char *text = NULL;

    if (!take_members(call, "{s:s}", "dst", &text) || !take_prefix(call, text, &dst))
        return NULL;
    return daemon_explain(call->daemon, &dst);
}

/* Whether a restart keeps what has changed, and why not. */
static json_t *with_kept(struct call *call, json_t *answer)
{
    const char *reason;
    bool is_kept = daemon_keeps_state(call->daemon, &reason);

    json_object_update_new(answer, json_pack("{s:b, s:o}", "is_kept", is_kept, "reason",
                                             text_or_null(reason)));
    return answer;
}

static json_t *run_hint(struct call *call)
{
    struct riptide_hint hint = { .cwnd_max = 0 };
    json_int_t cwnd_max = 0, for_ms = 0;
    const char *text = NULL;
    uint32_t destinations;
    int off = 0;

    if (!take_members(call, "{s:s, s?I, s?b, s:I}", "dst", &text, "cwnd_max", &cwnd_max, "off",
                      &off, "for_ms", &for_ms) ||
        !take_prefix(call, text, &hint.dst))
        return NULL;
    if (cwnd_max < 0 || cwnd_max > RIPTIDE_CWND_LIMIT)
        fail(call, "cwnd_max: not 1 to %d segments", RIPTIDE_CWND_LIMIT);
    else if (for_ms <= 0 || for_ms > REQUEST_MAX_HINT_MS)
        fail(call, "for_ms: not 1 ms to a year");
    if (call->error.text[0])
        return NULL;
    hint.cwnd_max = (uint32_t)cwnd_max;
    hint.off = off;
    if (daemon_hint(call->daemon, &hint, (uint64_t)for_ms * 1000000, &destinations,
                    &call->error) != 0)
        return NULL;
    return with_kept(call, json_pack("{s:s, s:I, s:I}", "dst", text, "for_ms", for_ms,
                                     "destinations", (json_int_t)destinations));
}

static json_t *run_unhint(struct call *call)
{
    struct riptide_prefix dst;
    const char *text = NULL;

    if (!take_members(call, "{s:s}", "dst", &text) || !take_prefix(call, text, &dst) ||
        daemon_unhint(call->daemon, &dst, &call->error) != 0)
        return NULL;
    return json_pack("{s:s}", "removed", text);
}

static json_t *run_pause(struct call *call)
{
    bool is_paused = !strcmp(call->verb->name, "pause");

    if (!take_members(call, "{}") || daemon_pause(call->daemon, is_paused, &call->error) != 0)
        return NULL;
    return with_kept(call, json_pack("{s:b, s:f}", "paused", is_paused, "suspended_s",
                                     daemon_suspended_s(call->daemon)));
}

static const struct verb verbs[] = {
    { "status", false, NULL, daemon_status },   { "metrics", false, NULL, daemon_metrics },
    { "hints", false, NULL, daemon_hints },     { "verdict", false, NULL, daemon_verdict },
    { "history", false, NULL, daemon_history }, { "show", false, run_show, NULL },
    { "explain", false, run_explain, NULL },    { "hint", true, run_hint, NULL },
    { "unhint", true, run_unhint, NULL },       { "pause", true, run_pause, NULL },
    { "resume", true, run_pause, NULL },
};

static const struct verb *find_verb(struct call *call)
{
    const json_t *name = json_object_get(call->document, "request");

    if (!json_is_object(call->document) || !json_is_string(name)) {
        fail(call, "not an object with a member \"request\"");
        return NULL;
    }
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (!strcmp(verbs[i].name, json_string_value(name)))
            return &verbs[i];
    }
    fail(call, "%s: unknown request", json_string_value(name));
    return NULL;
}

static json_t *run(struct call *call, const char *line, size_t n, bool may_change)
{
    json_error_t error;

    call->document = json_loadb(line, n, JSON_REJECT_DUPLICATES, &error);
    if (!call->document) {
        fail(call, "not JSON: %s", error.text);
        return NULL;
    }
    call->verb = find_verb(call);
    if (!call->verb)
        return NULL;
    if (call->verb->changes && !may_change) {
        fail(call, "only root and the group of --control-group may ask for that");
        return NULL;
    }
    json_object_del(call->document, "request");
    if (call->verb->run)
        return call->verb->run(call);
    return take_members(call, "{}") ? call->verb->ask(call->daemon) : NULL;
}

/* As a line; `object`, which may be NULL, is freed. */
static char *to_line(json_t *object, size_t *np)
{
    char *text = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;

    json_decref(object);
    if (!text)
        return NULL;
    *np = strlen(text) + 1;
    text[*np - 1] = '\n'; /* replaces the zero: the length is known */
    return text;
}

char *request_refuse(const char *reason, size_t *np)
{
    /* The reason may quote the client's text, and end within a character. */
    json_t *text = json_string(reason);

    return to_line(json_pack("{s:b, s:o}", "ok", false, "error",
                             text ? text : json_string("no valid text")),
                   np);
}

char *request_answer(struct daemon *daemon, const char *line, size_t n, bool may_change, size_t *np)
{
    struct call call = { .daemon = daemon };
    json_t *answer = run(&call, line, n, may_change);

    json_decref(call.document);
    if (answer && json_object_set_new(answer, "ok", json_true()) == 0)
        return to_line(answer, np);
    json_decref(answer);
    return request_refuse(call.error.text[0] ? call.error.text : strerror(ENOMEM), np);
}
