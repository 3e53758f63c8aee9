/* SPDX-License-Identifier: MIT */
/*
 * Any figures and texts in answers on the control socket: jansson reads each line as one document
 * with the same figures and texts.
 */
#include "case_bytes.h"
#include "explanation.h"
#include "stand_in.h"
#include "target.h"
#include "lib/tools.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { MAX_ROWS = 8 };

/* The daemon's figures. */
struct told {
    struct daemon stand_in; /* first, as the daemon's functions get a pointer to it */
    struct riptide_explanation why;
    uint64_t now_ns;
    struct riptide_hint hint;
    struct request_row rows[MAX_ROWS];
    uint32_t n_rows;
};

static struct riptide_prefix draw_prefix(struct case_bytes *bytes)
{
    struct riptide_prefix prefix = { AF_INET, 32, { 0 } };

    for (int i = 0; i < 4; i++)
        prefix.addr[i] = case_u8(bytes);
    return prefix;
}

static double draw_real(struct case_bytes *bytes)
{
    uint64_t bits = case_u64(bytes);
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

static void draw_explanation(struct riptide_explanation *why, struct case_bytes *bytes)
{
    uint8_t how = case_u8(bytes);

    why->dst = draw_prefix(bytes);
    why->policy = riptide_policy_get(how % 3)->name;
    why->samples = case_u32(bytes);
    why->combined = draw_real(bytes);
    why->smoothed = draw_real(bytes);
    why->bounds = case_u8(bytes);
    why->override_scale = draw_real(bytes);
    why->hint_scale = draw_real(bytes);
    if (how & 8)
        why->override = draw_prefix(bytes);
    why->hint_cwnd_max = case_u16(bytes);
    why->cwnd = case_u16(bytes);
    why->updated_ns = case_u64(bytes);
    why->expires_ns = how & 16 ? RIPTIDE_NEVER_NS : case_u64(bytes);
    why->evidence.capacity = draw_real(bytes);
    why->evidence.max_rtt_us = case_u32(bytes);
}

/* Drawn last, as inputs of the corpus from before these were added end there. */
static void draw_rest(struct told *told, struct case_bytes *bytes)
{
    struct riptide_explanation *why = &told->why;

    why->is_drop = case_u8(bytes) & 1;
    why->cwnd_min = case_u16(bytes);
    why->cwnd_max = case_u16(bytes);
    why->evidence.burst = draw_real(bytes);
    why->evidence.sharers = case_u32(bytes);
    why->evidence.brake = draw_real(bytes);
    why->evidence.min_rtt_us = case_u32(bytes);
    for (int i = 0; i < RIPTIDE_LEFT_OUT_REASONS; i++)
        why->left_out[i] = case_u32(bytes);
    for (uint32_t i = 0; i < told->n_rows; i++) {
        told->rows[i].route.initrwnd = case_u16(bytes);
        if (case_u8(bytes) & 1)
            told->rows[i].route.gateway = draw_prefix(bytes);
    }
    why->base_cwnd = case_u16(bytes);
    told->hint.dst = draw_prefix(bytes);
    told->hint.cwnd_max = case_u16(bytes);
    told->hint.scale = draw_real(bytes);
    told->hint.until_ns = case_u64(bytes);
}

static void draw_rows(struct told *told, struct case_bytes *bytes)
{
    for (told->n_rows = case_u8(bytes) % (MAX_ROWS + 1); bytes->left == 0 && told->n_rows > 1;)
        told->n_rows--;
    for (uint32_t i = 0; i < told->n_rows; i++) {
        struct riptide_route *route = &told->rows[i].route;
        size_t n = case_u8(bytes) % sizeof(route->reason);

        route->dst = draw_prefix(bytes);
        route->state = case_u8(bytes) % 4;
        route->initcwnd = case_u32(bytes);
        told->rows[i].estimate.cwnd = case_u32(bytes);
        told->rows[i].estimate.samples = case_u32(bytes);
        told->rows[i].initrwnd = told->rows[i].estimate.cwnd / 2;
        for (size_t k = 0; k < n; k++)
            route->reason[k] = (char)case_u8(bytes);
    }
}

static json_t *explain(struct daemon *daemon, const struct riptide_prefix *dst)
{
    const struct told *told = (const struct told *)daemon;

    (void)dst;
    return json_pack("{s:o, s:o, s:o}", "window", explanation_window(&told->why, told->now_ns),
                     "seen", explanation_seen(&told->why), "route",
                     told->n_rows ? explanation_route(&told->rows[0].route, NULL) : json_null());
}

static json_t *hints(struct daemon *daemon)
{
    const struct told *told = (const struct told *)daemon;

    return json_pack("{s:[o]}", "hints", explanation_hint(&told->hint, told->now_ns));
}

static bool next(struct daemon *daemon, uint32_t *cursor, struct request_row *row)
{
    const struct told *told = (const struct told *)daemon;

    if (*cursor >= told->n_rows)
        return false;
    *row = told->rows[(*cursor)++];
    return true;
}

/* The document of the answer to a request. */
static json_t *ask(struct told *told, const char *line)
{
    json_t *answer;
    char *text;
    size_t n;

    told->stand_in.explain = explain;
    told->stand_in.hints = hints;
    told->stand_in.next = next;
    text = request_answer(&told->stand_in, line, strlen(line), true, &n);
    CASE_CHECK(text && memchr(text, '\n', n) == text + n - 1);
    answer = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
    free(text);
    CASE_CHECK(json_is_object(answer));
    return answer;
}

/* Figures are written with nine digits; a missing one is null, which reads as 0. */
static void check_real(const json_t *object, const char *name, double value)
{
    double read = json_number_value(json_object_get(object, name));

    CASE_CHECK(fabs(read - value) <= fabs(value) * 1e-8);
}

static void check_integer(const json_t *object, const char *name, uint64_t value)
{
    CASE_CHECK(json_integer_value(json_object_get(object, name)) == (json_int_t)value);
}

static void check_text(const json_t *object, const char *name, const char *value)
{
    const char *read = json_string_value(json_object_get(object, name));

    CASE_CHECK(value ? read && !strcmp(read, value) : !read);
}

static void check_address(const json_t *object, const char *name,
                          const struct riptide_prefix *prefix)
{
    char text[RIPTIDE_PREFIX_TEXT_BYTES];

    if (prefix->family)
        riptide_prefix_format(prefix, text);
    check_text(object, name, prefix->family ? text : NULL);
}

static const char *state_of(const struct riptide_route *route)
{
    switch (route->state) {
    case RIPTIDE_ROUTE_APPLIED:
        return "applied";
    case RIPTIDE_ROUTE_WITHDRAWN:
        return "withdrawn";
    case RIPTIDE_ROUTE_LEFT_ALONE:
        return "left alone";
    default:
        return "failed";
    }
}

/* A reason that is not UTF-8 is omitted, but not its row. */
static void check_rows(const struct told *told, const json_t *routes)
{
    CASE_CHECK(json_array_size(routes) == told->n_rows);
    for (uint32_t i = 0; i < told->n_rows; i++) {
        const struct request_row *row = &told->rows[i];
        const char *line = json_string_value(json_array_get(routes, i));
        json_t *reason = json_string(row->route.reason);
        char dst[RIPTIDE_PREFIX_TEXT_BYTES], expected[256];
        bool has_reason = row->route.reason[0] && reason;

        riptide_prefix_format(&row->route.dst, dst);
        snprintf(expected, sizeof(expected), "%s\t%s\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu32 "%s%s", dst,
                 state_of(&row->route), row->route.initcwnd, row->estimate.cwnd,
                 row->estimate.samples, row->initrwnd, has_reason ? "\t" : "",
                 has_reason ? row->route.reason : "");
        CASE_CHECK(line && !strcmp(line, expected));
        json_decref(reason);
    }
}

static void check_times(const struct told *told, const json_t *window)
{
    const struct riptide_explanation *why = &told->why;
    uint64_t now_ns = told->now_ns;

    check_real(window, "age_s",
               now_ns > why->updated_ns ? (double)(now_ns - why->updated_ns) / 1e9 : 0);
    if (why->expires_ns == RIPTIDE_NEVER_NS)
        CASE_CHECK(json_is_null(json_object_get(window, "expires_s")));
    else
        check_real(window, "expires_s",
                   why->expires_ns > now_ns ? (double)(why->expires_ns - now_ns) / 1e9 : 0);
}

static void check_evidence(const struct riptide_explanation *why, const json_t *evidence)
{
    check_real(evidence, "capacity", why->evidence.capacity);
    check_real(evidence, "burst", why->evidence.burst);
    check_integer(evidence, "sharers", why->evidence.sharers);
    check_real(evidence, "brake", why->evidence.brake);
    check_real(evidence, "min_rtt_ms", why->evidence.min_rtt_us / 1e3);
    check_real(evidence, "max_rtt_ms", why->evidence.max_rtt_us / 1e3);
}

static void check_left_out(const struct riptide_explanation *why, const json_t *left_out)
{
    check_integer(left_out, "unused", why->left_out[RIPTIDE_LEFT_OUT_UNUSED - 1]);
    check_integer(left_out, "idle", why->left_out[RIPTIDE_LEFT_OUT_IDLE - 1]);
    check_integer(left_out, "unmeasured", why->left_out[RIPTIDE_LEFT_OUT_UNMEASURED - 1]);
}

static void check_seen(const struct riptide_explanation *why, const json_t *seen)
{
    uint64_t n = why->samples;

    for (int i = 0; i < RIPTIDE_LEFT_OUT_REASONS; i++)
        n += why->left_out[i];
    check_integer(seen, "connections", n);
    check_left_out(why, json_object_get(seen, "left_out"));
}

/* The time left is in whole milliseconds; 0 after a hint's end. */
static void check_hint(const struct told *told, const json_t *hint)
{
    const struct riptide_hint *given = &told->hint;
    double left_ms =
        given->until_ns > told->now_ns ? (double)(given->until_ns - told->now_ns) / 1e6 : 0;
    double for_ms = (double)json_integer_value(json_object_get(hint, "for_ms"));

    check_address(hint, "dst", &given->dst);
    check_integer(hint, "cwnd_max", given->cwnd_max);
    check_real(hint, "scale", given->scale < 1 ? given->scale : 0);
    CASE_CHECK(for_ms >= 0 && fabs(for_ms - left_ms) <= 1 + left_ms * 1e-8);
}

static void check_window(const struct told *told, const json_t *window)
{
    static const char *const bounds[] = { "min",          "max",
                                          "override_min", "override_max",
                                          "override_scale", "hint_scale",
                                          "hint_max",     "base" };
    const struct riptide_explanation *why = &told->why;
    const json_t *bit = json_object_get(window, "bounds");
    size_t n = 0;

    check_text(window, "policy", why->policy);
    check_integer(window, "connections", why->samples);
    check_left_out(why, json_object_get(window, "left_out"));
    check_real(window, "combined", why->combined);
    check_real(window, "smoothed", why->smoothed);
    CASE_CHECK(json_is_true(json_object_get(window, "is_drop")) == why->is_drop);
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
        if (why->bounds & 1u << i)
            CASE_CHECK(!strcmp(json_string_value(json_array_get(bit, n++)), bounds[i]));
    }
    CASE_CHECK(json_array_size(bit) == n);
    check_integer(window, "cwnd_min", why->cwnd_min);
    check_integer(window, "cwnd_max", why->cwnd_max);
    check_address(window, "override", &why->override);
    check_real(window, "override_scale", why->override_scale < 1 ? why->override_scale : 0);
    check_real(window, "hint_scale", why->hint_scale < 1 ? why->hint_scale : 0);
    check_integer(window, "hint_cwnd_max", why->hint_cwnd_max);
    check_integer(window, "base_cwnd", why->base_cwnd);
    check_integer(window, "cwnd", why->cwnd);
    check_times(told, window);
    check_evidence(why, json_object_get(window, "evidence"));
}

static void check_route(const struct told *told, const json_t *route)
{
    const struct riptide_route *first = &told->rows[0].route;

    if (told->n_rows == 0) {
        CASE_CHECK(json_is_null(route));
        return;
    }
    check_address(route, "dst", &first->dst);
    check_text(route, "state", state_of(first));
    check_integer(route, "initcwnd", first->initcwnd);
    check_integer(route, "initrwnd", first->initrwnd);
    check_address(route, "gateway", &first->gateway);
    check_text(route, "reason", first->reason[0] ? first->reason : NULL);
}

/* JSON has no infinite numbers, and the estimator computes none. */
static bool is_finite(const struct riptide_explanation *why)
{
    return isfinite(why->combined) && isfinite(why->smoothed) && isfinite(why->override_scale) &&
           isfinite(why->hint_scale) && isfinite(why->evidence.capacity) &&
           isfinite(why->evidence.burst) && isfinite(why->evidence.brake);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct case_bytes bytes = { data, n };
    struct told told = { .n_rows = 0 };
    json_t *answer;

    draw_explanation(&told.why, &bytes);
    told.now_ns = case_u64(&bytes);
    draw_rows(&told, &bytes);
    draw_rest(&told, &bytes);

    answer = ask(&told, "{\"request\":\"show\"}");
    check_rows(&told, json_object_get(answer, "routes"));
    json_decref(answer);

    answer = ask(&told, "{\"request\":\"explain\",\"dst\":\"10.0.0.1\"}");
    if (is_finite(&told.why) && json_is_true(json_object_get(answer, "ok"))) {
        check_window(&told, json_object_get(answer, "window"));
        check_seen(&told.why, json_object_get(answer, "seen"));
        check_route(&told, json_object_get(answer, "route"));
    }
    json_decref(answer);

    answer = ask(&told, "{\"request\":\"hints\"}");
    if (isfinite(told.hint.scale))
        check_hint(&told, json_array_get(json_object_get(answer, "hints"), 0));
    json_decref(answer);
    return 0;
}
