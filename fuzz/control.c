/* SPDX-License-Identifier: MIT */
/*
 * Any line on the control socket: the answer is one line of JSON with "ok", only permitted clients
 * change things, and only a hint in force can be removed. The first byte chooses the client and the daemon's
 * data.
 */
#include "stand_in.h"
#include "target.h"

#include <stdlib.h>

static const struct riptide_prefix in_force = { AF_INET, 8, { 10 } }; /* it has a hint */

static void check_answer(const char *text, size_t n, const struct daemon *stand_in)
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
                   prefix_equals(&dst, &in_force) && stand_in->n_changes == 1);
    else
        CASE_CHECK(stand_in->hint.dst.family != 0);
    json_decref(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct daemon stand_in = { .n_rows = 3000, .hint = { .dst = in_force } };
    bool may_change = n > 0 && data[0] & 1;
    size_t n_text;
    char *text;

    if (n == 0 || n > REQUEST_MAX_BYTES)
        return 0;
    stand_in.has_reasons = data[0] & 4;
    text = request_answer(&stand_in, (const char *)data + 1, n - 1, may_change, &n_text);
    check_answer(text, n_text, &stand_in);
    CASE_CHECK(may_change || stand_in.n_changes == 0);
    free(text);
    return 0;
}
