/* SPDX-License-Identifier: MIT */
#include "words.h"

#include <inttypes.h>
#include <stdio.h>

const char *words_verdict(const struct riptide_verdict *verdict)
{
    const bool helps = verdict->time.high < 0 || verdict->retransmitted.high < 0;
    const bool harms = verdict->time.low > 0 || verdict->retransmitted.low > 0;

    if (helps && harms)
        return "mixed";
    if (helps)
        return "helps";
    return harms ? "harms" : "none";
}

void words_route(const struct riptide_route *route, char text[WORDS_BYTES])
{
    const char *state = riptide_name(RIPTIDE_NAMES_ROUTE_STATE, route->state);
    const bool is_route = riptide_backend_traits(route->backend) & RIPTIDE_USES_RULES;
    const char *by = is_route ? "" : " by the program";
    const bool has_window =
        route->state == RIPTIDE_ROUTE_APPLIED || route->state == RIPTIDE_ROUTE_FAILED;
    const char *colon = route->reason[0] ? ": " : "";

    if (has_window)
        snprintf(text, WORDS_BYTES, "%s: initcwnd %" PRIu32 "%s%s%s", state, route->initcwnd, by,
                 colon, route->reason);
    else
        snprintf(text, WORDS_BYTES, "%s%s%s", state, colon, route->reason);
}
