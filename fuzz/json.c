/*
 * Any figures and texts as answers on the control socket: jansson reads each line as one document,
 * and what was told is in it.
 */
#include "case_bytes.h"
#include "explanation.h"
#include "stand_in.h"
#include "target.h"

#include <math.h>

enum { MAX_ROWS = 8, ANSWER_BYTES = 64 * 1024 };

/* What the daemon tells. */
struct told {
    struct stand_in stand_in; /* first: its functions have the same userdata */
    struct riptide_explanation why;
    uint64_t now_ns;
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
    why->policy = riptide_policy_get(how % 8)->name;
    why->smoothing = riptide_smoothing_get(how % 3)->name;
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
    why->rto_min_us = case_u32(bytes);
    why->updated_ns = case_u64(bytes);
    why->expires_ns = how & 16 ? RIPTIDE_NEVER_NS : case_u64(bytes);
    why->evidence.capacity = draw_real(bytes);
    why->evidence.max_rtt_us = case_u32(bytes);
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
        for (size_t k = 0; k < n; k++)
            route->reason[k] = (char)case_u8(bytes);
    }
}

static json_t *explain(void *userdata, const struct riptide_prefix *dst)
{
    const struct told *told = userdata;

    (void)dst;
    return json_pack("{s:o, s:o}", "window", explanation_window(&told->why, told->now_ns), "route",
                     told->n_rows ? explanation_route(&told->rows[0].route, NULL) : json_null());
}

static bool next(void *userdata, uint32_t *cursor, struct request_row *row)
{
    const struct told *told = userdata;

    if (*cursor == told->n_rows)
        return false;
    *row = told->rows[(*cursor)++];
    return true;
}

/* The document of the answer to a request. */
static json_t *ask(struct told *told, const char *line)
{
    static char text[ANSWER_BYTES];
    struct request_daemon daemon = stand_in_daemon(&told->stand_in);
    const struct request_caller caller = { true, -1 };
    struct request request;
    bool is_done = false;
    size_t n = 0;
    json_t *answer;

    daemon.userdata = told;
    daemon.explain = explain;
    daemon.next = next;
    request_begin(&request, &daemon, line, strlen(line), &caller);
    while (!is_done) {
        CASE_CHECK(n + REQUEST_PIECE_BYTES <= sizeof(text));
        n += request_read(&request, &daemon, text + n, REQUEST_PIECE_BYTES, &is_done);
    }
    request_end(&request);
    CASE_CHECK(n > 0 && memchr(text, '\n', n) == text + n - 1);
    answer = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
    CASE_CHECK(json_is_object(answer));
    return answer;
}

/* Nine digits are written. */
static void check_real(const json_t *object, const char *name, double value)
{
    double read = json_real_value(json_object_get(object, name));

    CASE_CHECK(fabs(read - value) <= fabs(value) * 1e-8);
}

/* A reason that is no UTF-8 is left out; the row is not. */
static void check_rows(const struct told *told, const json_t *routes)
{
    CASE_CHECK(json_array_size(routes) == told->n_rows);
    for (uint32_t i = 0; i < told->n_rows; i++) {
        const struct request_row *row = &told->rows[i];
        const json_t *columns = json_array_get(routes, i);
        json_t *reason = json_string(row->route.reason);
        char dst[RIPTIDE_PREFIX_TEXT_BYTES];

        riptide_prefix_format(&row->route.dst, dst);
        CASE_CHECK(!strcmp(json_string_value(json_array_get(columns, 0)), dst));
        CASE_CHECK(json_integer_value(json_array_get(columns, 2)) == row->route.initcwnd);
        CASE_CHECK(json_integer_value(json_array_get(columns, 3)) == row->estimate.cwnd);
        CASE_CHECK(json_integer_value(json_array_get(columns, 4)) == row->estimate.samples);
        if (row->route.reason[0] && reason)
            CASE_CHECK(json_equal(json_array_get(columns, 5), reason));
        else
            CASE_CHECK(json_array_size(columns) == 5);
        json_decref(reason);
    }
}

static void check_window(const struct told *told, const json_t *window)
{
    const struct riptide_explanation *why = &told->why;

    CASE_CHECK(!strcmp(json_string_value(json_object_get(window, "policy")), why->policy));
    CASE_CHECK(json_integer_value(json_object_get(window, "connections")) == why->samples);
    CASE_CHECK(json_integer_value(json_object_get(window, "cwnd")) == why->cwnd);
    check_real(window, "combined", why->combined);
    check_real(window, "smoothed", why->smoothed);
    check_real(json_object_get(window, "evidence"), "capacity", why->evidence.capacity);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct case_bytes bytes = { data, n };
    struct told told = { .n_rows = 0 };
    json_t *answer;

    draw_explanation(&told.why, &bytes);
    told.now_ns = case_u64(&bytes);
    draw_rows(&told, &bytes);

    answer = ask(&told, "{\"request\":\"show\"}");
    check_rows(&told, json_object_get(answer, "routes"));
    json_decref(answer);

    answer = ask(&told, "{\"request\":\"explain\",\"dst\":\"10.0.0.1\"}");
    /* JSON has no word for what is not finite, and the estimator computes none. */
    if (isfinite(told.why.combined) && isfinite(told.why.smoothed) &&
        isfinite(told.why.evidence.capacity)) {
        if (json_is_true(json_object_get(answer, "ok")))
            check_window(&told, json_object_get(answer, "window"));
    }
    json_decref(answer);
    return 0;
}
