/* SPDX-License-Identifier: MIT */
/*
 * Any line on the control socket: the answer is one line of JSON with "ok", and only permitted
 * clients change things. The first byte chooses the client.
 */
#include "stand_in.h"
#include "target.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct daemon stand_in = { .n_asked = 0 };
    const bool may_change = n > 0 && data[0] & 1;
    const json_t *ok;
    json_t *answer;
    char *text;

    if (n == 0 || n > REQUEST_MAX_BYTES)
        return 0;
    text = request_answer(stand_ins, &stand_in, (const char *)data + 1, n - 1, may_change);
    answer = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    ok = json_object_get(answer, "ok");
    CASE_CHECK(!strchr(text, '\n'));
    CASE_CHECK(json_is_boolean(ok));
    CASE_CHECK(json_is_true(ok) == (stand_in.n_asked == 1));
    CASE_CHECK(json_is_true(ok) || json_string_length(json_object_get(answer, "error")) > 0);
    CASE_CHECK(may_change || stand_in.n_changes == 0);
    json_decref(answer);
    free(text);
    return 0;
}
