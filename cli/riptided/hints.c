/* SPDX-License-Identifier: MIT */
#include "hints.h"

#include "clock.h"
#include "text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int hints_add(struct hints *hints, const struct riptide_hint *hint, struct riptide_error *error)
{
    int r = riptide_agent_set_hint(hints->agent, hint, error);
    const struct riptide_error given = *error;
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];

    riptide_prefix_format(&hint->dst, dst);
    if (r == RIPTIDE_E_FULL)
        refuse(error, r, "there are %d hints already", RIPTIDE_MAX_HINTS);
    else if (given.field && strcmp(given.field, "hint.dst") == 0)
        refuse(error, r, "%s%s (prefix-len4, -len6)", dst, strchr(given.text, ':'));
    return r;
}

size_t hints_count(struct hints *hints)
{
    const uint64_t now_ns = clock_read_ns(CLOCK_BOOTTIME);
    size_t n = 0;

    for (size_t i = 0; i < hints->n; i++) {
        if (hints->list[i].until_ns > now_ns)
            hints->list[n++] = hints->list[i];
    }
    hints->n = n;
    return n;
}

const struct riptide_hint *hints_find(struct hints *hints, const struct riptide_prefix *dst)
{
    size_t i = hints_count(hints);

    while (i > 0 && memcmp(&hints->list[i - 1].dst, dst, sizeof(*dst)) != 0)
        i--;
    return i > 0 ? &hints->list[i - 1] : NULL;
}

/* The agent has no more of them than the list has room for. */
void hints_read(struct hints *hints)
{
    const uint64_t now_ns = clock_read_ns(CLOCK_BOOTTIME);
    char *text = riptide_agent_get_state(hints->agent), *line = text, dst[64];
    uint64_t left_ns;
    int off;

    hints->n = 0;
    for (; line && (line = strstr(line, "\nhint=")); line++) {
        struct riptide_hint hint = { .cwnd_min = 0 };

        /* Its end is by the wall clock there. */
        if (sscanf(line, "\nhint=%63s cwnd_max=%" SCNu32 " off=%d until_ns=%*u left_ns=%" SCNu64,
                   dst, &hint.cwnd_max, &off, &left_ns) != 4 ||
            riptide_prefix_parse(&hint.dst, dst) != 0)
            continue;
        hint.off = off;
        hint.until_ns = now_ns + left_ns;
        hints->list[hints->n++] = hint;
    }
    free(text);
}
