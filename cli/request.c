/* SPDX-License-Identifier: MIT */
/*
 * Requests by name: what each takes, who may ask it, what it answers.
 */
#include "request.h"

#include "explanation.h"
#include "lib/tools.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROW_BYTES = 1024,   /* more than a row takes */
    ROWS_A_PIECE = 512, /* a walk that finds little must not take long */
};

struct call;

/* Returns the answer, or NULL with a line in call->error (or without memory for one). */
typedef json_t *verb_function(struct call *call);

struct verb {
    const char *name;
    bool changes; /* root and the control group only */
    verb_function *run;
};

/* What a request needs while it is carried out. */
struct call {
    const struct request_daemon *daemon;
    const struct request_caller *caller;
    json_t *document;
    struct request *request;
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

/* Takes the request's members; one that is missing, unknown or of another type is refused. */
static bool take_members(struct call *call, const char *format, ...)
{
    json_error_t error;
    va_list args;
    int r;

    va_start(args, format);
    r = json_vunpack_ex(call->document, &error, JSON_STRICT, format, args);
    va_end(args);
    if (r < 0)
        fail(call, "a member is wrong: %s", error.text);
    return r == 0;
}

static bool take_prefix(struct call *call, const char *text, struct riptide_prefix *prefix)
{
    if (riptide_prefix_parse(prefix, text) == 0)
        return true;
    fail(call, "%s: not a prefix", text);
    return false;
}

static json_t *run_status(struct call *call)
{
    return take_members(call, "{}") ? call->daemon->status(call->daemon->userdata) : NULL;
}

static json_t *run_metrics(struct call *call)
{
    return take_members(call, "{}") ? call->daemon->metrics(call->daemon->userdata) : NULL;
}

static json_t *run_hints(struct call *call)
{
    return take_members(call, "{}") ? call->daemon->hints(call->daemon->userdata) : NULL;
}

static json_t *run_show(struct call *call)
{
    const char *prefix = NULL;

    if (!take_members(call, "{s?s}", "prefix", &prefix))
        return NULL;
    if (prefix && !take_prefix(call, prefix, &call->request->within))
        return NULL;
    call->request->is_listing = call->request->is_first = true;
    return json_pack("{s:[], s:[s, s, s, s, s, s], s:b, s:I, s:I}", "routes", "columns", "dst",
                     "state", "initcwnd", "cwnd", "connections", "reason", "paused",
                     call->daemon->is_paused(call->daemon->userdata), "step_segments",
                     (json_int_t)call->daemon->router->step_segments, "step_percent",
                     (json_int_t)call->daemon->router->step_percent);
}

static json_t *run_explain(struct call *call)
{
    struct riptide_prefix dst;
    const char *text = NULL;

    if (!take_members(call, "{s:s}", "dst", &text) || !take_prefix(call, text, &dst))
        return NULL;
    return call->daemon->explain(call->daemon->userdata, &dst);
}

static json_t *run_hint(struct call *call)
{
    struct riptide_hint hint = { .cwnd_max = 0 };
    json_int_t cwnd_max = 0, for_ms = 0;
    const char *text = NULL;
    struct request_hinted hinted;
    double scale = 0;

    if (!take_members(call, "{s:s, s?I, s?F, s:I}", "dst", &text, "cwnd_max", &cwnd_max, "scale",
                      &scale, "for_ms", &for_ms) ||
        !take_prefix(call, text, &hint.dst))
        return NULL;
    if (cwnd_max < 0 || cwnd_max > RIPTIDE_CWND_LIMIT)
        fail(call, "cwnd_max: not 1 to %d segments", RIPTIDE_CWND_LIMIT);
    else if (for_ms <= 0 || for_ms > REQUEST_MAX_HINT_MS)
        fail(call, "for_ms: not 1 ms to a year");
    if (call->error.text[0])
        return NULL;
    hint.cwnd_max = (uint32_t)cwnd_max;
    hint.scale = scale;
    if (call->daemon->hint(call->daemon->userdata, &hint, (uint64_t)for_ms * 1000000, &hinted,
                           &call->error) != 0)
        return NULL;
    return json_pack("{s:s, s:I, s:I, s:I}", "dst", text, "for_ms", for_ms, "cwnd_min",
                     (json_int_t)hinted.cwnd_min, "destinations", (json_int_t)hinted.destinations);
}

static json_t *run_unhint(struct call *call)
{
    struct riptide_prefix dst;
    const char *text = NULL;

    if (!take_members(call, "{s:s}", "dst", &text) || !take_prefix(call, text, &dst) ||
        call->daemon->unhint(call->daemon->userdata, &dst, &call->error) != 0)
        return NULL;
    return json_pack("{s:s}", "removed", text);
}

static json_t *run_pause(struct call *call)
{
    bool is_paused = !strcmp(call->verb->name, "pause");

    if (!take_members(call, "{}") ||
        call->daemon->pause(call->daemon->userdata, is_paused, &call->error) != 0)
        return NULL;
    return json_pack("{s:b}", "paused", is_paused);
}

static json_t *run_save(struct call *call)
{
    if (!take_members(call, "{}") ||
        call->daemon->save(call->daemon->userdata, &call->request->fd, &call->error) != 0)
        return NULL;
    return json_object();
}

static json_t *run_load(struct call *call)
{
    bool is_replacing = !strcmp(call->verb->name, "load");
    struct riptide_load_counts counts;

    if (!take_members(call, "{}"))
        return NULL;
    if (call->caller->fd < 0) {
        fail(call, "the fd of a state is missing");
        return NULL;
    }
    if (call->daemon->load(call->daemon->userdata, call->caller->fd, is_replacing, &counts,
                           &call->error) != 0)
        return NULL;
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "loaded", (json_int_t)counts.loaded,
                     "expired", (json_int_t)counts.expired, "older", (json_int_t)counts.older,
                     "regrouped", (json_int_t)counts.regrouped, "skipped",
                     (json_int_t)counts.skipped, "overflow", (json_int_t)counts.overflow);
}

static const struct verb verbs[] = {
    { "status", false, run_status }, { "metrics", false, run_metrics },
    { "show", false, run_show },     { "explain", false, run_explain },
    { "hints", false, run_hints },   { "hint", true, run_hint },
    { "unhint", true, run_unhint },  { "pause", true, run_pause },
    { "resume", true, run_pause },   { "save", true, run_save },
    { "load", true, run_load },      { "merge", true, run_load },
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

static json_t *run(struct call *call, const char *line, size_t n)
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
    if (call->verb->changes && !call->caller->may_change) {
        fail(call, "only root and the group of --control-group may ask for that");
        return NULL;
    }
    json_object_del(call->document, "request");
    return call->verb->run(call);
}

/* The answer as text; `object`, which may be NULL, is freed. */
static void tell(struct request *request, json_t *object)
{
    if (object)
        request->text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(object);
    request->n_text = request->text ? strlen(request->text) + 1 : 0;
    if (request->text)
        request->text[request->n_text - 1] = '\n'; /* for the zero: the length is known */
    else
        request->is_listing = false;
}

void request_refuse(struct request *request, const char *reason)
{
    json_t *text;

    *request = (struct request){ .fd = -1 };
    /* What a client sent may be in the reason, and end in the middle of a character. */
    text = json_string(reason);
    tell(request,
         json_pack("{s:b, s:o}", "ok", false, "error", text ? text : json_string("no valid text")));
}

void request_begin(struct request *request, const struct request_daemon *daemon, const char *line,
                   size_t n, const struct request_caller *caller)
{
    struct call call = { .daemon = daemon, .caller = caller, .request = request };
    json_t *answer;

    *request = (struct request){ .fd = -1 };
    answer = run(&call, line, n);
    json_decref(call.document);
    if (!answer || json_object_set_new(answer, "ok", json_true()) < 0) {
        json_decref(answer);
        request_refuse(request, call.error.text[0] ? call.error.text : strerror(ENOMEM));
        return;
    }
    tell(request, answer);
}

/* Without the names of run_show, since there may be ten thousand. Nothing where memory is short. */
static size_t write_row(char *at, const struct request_row *row, bool is_first)
{
    const struct riptide_route *route = &row->route;
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];
    json_t *array;
    size_t n;

    riptide_prefix_format(&route->dst, dst);
    array = json_pack("[s, s, I, I, I]", dst, explanation_route_state(route->state),
                      (json_int_t)route->initcwnd, (json_int_t)row->estimate.cwnd,
                      (json_int_t)row->estimate.samples);
    if (route->reason[0])
        json_array_append_new(array, json_string(route->reason));
    n = json_dumpb(array, at + !is_first, ROW_BYTES - 1, JSON_COMPACT);
    json_decref(array);
    if (n == 0 || n >= ROW_BYTES)
        return 0;
    if (!is_first)
        at[0] = ',';
    return n + !is_first;
}

/* Rows as far as they fit; false behind the last. */
static bool write_rows(struct request *request, const struct request_daemon *daemon, char *piece,
                       size_t size, size_t *np)
{
    struct request_row row;
    size_t n_row;

    for (int i = 0; i < ROWS_A_PIECE && *np + ROW_BYTES <= size; i++) {
        if (!daemon->next(daemon->userdata, &request->cursor, &row))
            return false;
        if (request->within.family && !riptide_prefix_contains(&request->within, &row.route.dst))
            continue;
        n_row = write_row(piece + *np, &row, request->is_first);
        *np += n_row;
        request->is_first &= n_row == 0;
    }
    return true;
}

/* The text up to `end`. */
static size_t copy_text(struct request *request, char *piece, size_t size, size_t end)
{
    size_t n = end - request->n_told < size ? end - request->n_told : size;

    memcpy(piece, request->text + request->n_told, n);
    request->n_told += n;
    return n;
}

size_t request_read(struct request *request, const struct request_daemon *daemon, char *piece,
                    size_t size, bool *is_donep)
{
    size_t n = 0;

    *is_donep = false;
    if (request->is_listing) {
        /* {"routes":[],... and the rest: the rows go behind the first bracket. */
        if (request->n_told == 0)
            n = copy_text(request, piece, size, strcspn(request->text, "[") + 1);
        request->is_listing = write_rows(request, daemon, piece, size, &n);
        if (request->is_listing)
            return n;
    }
    if (request->text)
        n += copy_text(request, piece + n, size - n, request->n_text);
    *is_donep = request->n_told == request->n_text;
    return n;
}

void request_end(struct request *request)
{
    free(request->text);
    *request = (struct request){ .fd = -1 };
}
