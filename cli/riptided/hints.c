/* SPDX-License-Identifier: MIT */
#include "hints.h"

#include "clock.h"
#include "text.h"

#include <string.h>

int hints_add(struct riptide_agent *agent, const struct riptide_hint *hint,
              struct riptide_error *error)
{
    int r = riptide_agent_set_hint(agent, hint, error);
    const struct riptide_error given = *error;
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];

    riptide_prefix_format(&hint->dst, dst);
    if (r == RIPTIDE_E_FULL)
        refuse(error, r, "there are %d hints already", RIPTIDE_MAX_HINTS);
    else if (given.field && strcmp(given.field, "hint.dst") == 0)
        refuse(error, r, "%s%s (prefix-len4, -len6)", dst, strchr(given.text, ':'));
    return r;
}

bool hints_next(const struct riptide_agent *agent, uint32_t *cursor, struct riptide_hint *hint)
{
    const uint64_t now_ns = clock_read_ns(CLOCK_BOOTTIME);

    while (riptide_agent_next_hint(agent, cursor, hint) == 0) {
        if (hint->until_ns > now_ns && hint->until_ns != RIPTIDE_NEVER_NS)
            return true;
    }
    return false;
}

size_t hints_count(const struct riptide_agent *agent)
{
    struct riptide_hint hint;
    uint32_t cursor = 0;
    size_t n = 0;

    while (hints_next(agent, &cursor, &hint))
        n++;
    return n;
}

bool hints_find(const struct riptide_agent *agent, const struct riptide_prefix *dst,
                struct riptide_hint *hint)
{
    uint32_t cursor = 0;

    while (hints_next(agent, &cursor, hint)) {
        if (memcmp(&hint->dst, dst, sizeof(*dst)) == 0)
            return true;
    }
    return false;
}
