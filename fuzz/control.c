/* SPDX-License-Identifier: MIT */
/*
 * Any line on the control socket: the answer is one line of JSON with "ok", only permitted clients
 * change things, and only a hint in force can be removed. Ladders come in pages and can be read;
 * those of a site are taken, or counted as invalid or unknown, within their bounds. The first byte
 * chooses the client and the daemon's data.
 */
#include "case_bytes.h"
#include "stand_in.h"
#include "target.h"
#include "lib/tools.h"

#include <stdlib.h>

static const struct riptide_prefix in_force = { AF_INET, 8, { 10 } }; /* it has a hint */

static void check_learned(const json_t *answer)
{
    const json_t *ladders = json_object_get(answer, "ladders"), *row;
    const json_t *next = json_object_get(answer, "next");
    struct riptide_prefix dst;
    struct ladder ladder;
    size_t i;

    CASE_CHECK(json_array_size(ladders) <= REQUEST_PAGE);
    CASE_CHECK(!ladders || json_is_null(next) || json_integer_value(next) > 0);
    json_array_foreach(ladders, i, row)
    {
        CASE_CHECK(riptide_prefix_parse(&dst, json_string_value(json_array_get(row, 0))) == 0);
        CASE_CHECK(ladder_load(&ladder, 1, json_string_value(json_array_get(row, 1))));
        CASE_CHECK(json_integer_value(json_array_get(row, 2)) == 3);
    }
}

/* An answer with these members shows that the request was valid JSON. */
static void check_site(const json_t *answer, const char *line, size_t n,
                       const struct daemon *stand_in)
{
    json_int_t taken, unknown, invalid;
    json_t *asked;

    if (json_unpack((json_t *)answer, "{s:I, s:I, s:I}", "taken", &taken, "unknown", &unknown,
                    "invalid", &invalid) != 0)
        return;
    asked = json_loadb(line, n, 0, NULL);
    CASE_CHECK(taken + unknown + invalid ==
               (json_int_t)json_array_size(json_object_get(asked, "ladders")));
    CASE_CHECK(taken + unknown + invalid <= REQUEST_PAGE);
    CASE_CHECK((taken > 0) == (stand_in->site_dst.family != 0));
    CASE_CHECK(taken == 0 || (stand_in->weight > 0 && stand_in->weight <= REQUEST_MAX_WEIGHT));
    CASE_CHECK(stand_in->for_ns > 0 && stand_in->for_ns <= REQUEST_MAX_SITE_MS * UINT64_C(1000000));
    json_decref(asked);
}

static void check_answer(const char *text, size_t n, const char *line, size_t n_line,
                         const struct daemon *stand_in)
{
    json_t *answer = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
    const json_t *ok = json_object_get(answer, "ok");
    const char *removed = json_string_value(json_object_get(answer, "removed"));
    struct riptide_prefix dst;

    CASE_CHECK(memchr(text, '\n', n) == text + n - 1);
    CASE_CHECK(json_is_boolean(ok));
    CASE_CHECK(json_is_true(ok) || json_string_length(json_object_get(answer, "error")) > 0);
    if (removed)
        CASE_CHECK(riptide_prefix_parse(&dst, removed) == 0 && stand_in->hint.dst.family == 0 &&
                   riptide_prefix_equal(&dst, &in_force) && stand_in->n_changes == 1);
    else
        CASE_CHECK(stand_in->hint.dst.family != 0);
    check_learned(answer);
    check_site(answer, line, n_line, stand_in);
    json_decref(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct daemon stand_in = { .n_rows = 3000, .n_ladders = 5000, .hint = { .dst = in_force } };
    bool may_change = n > 0 && data[0] & 1;
    size_t n_text;
    char *text;

    if (n == 0 || n > REQUEST_MAX_BYTES)
        return 0;
    stand_in.has_reasons = data[0] & 4;
    text = request_answer(&stand_in, (const char *)data + 1, n - 1, may_change, &n_text);
    check_answer(text, n_text, (const char *)data + 1, n - 1, &stand_in);
    CASE_CHECK(may_change || stand_in.n_changes == 0);
    free(text);
    return 0;
}
