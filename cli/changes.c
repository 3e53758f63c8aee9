/* SPDX-License-Identifier: MIT */
/* The latest changes of windows: a busy destination cannot push out those of others. */
#include "daemon.h"

#include "members.h"
#include "prefixes.h"

#include <string.h>
#include <time.h>

void changes_note(struct daemon *daemon, const struct riptide_route *route)
{
    struct changes *changes = &daemon->changes;
    struct change *oldest = changes->list, *own = NULL, *last = NULL;
    unsigned int n = 0;

    for (struct change *change = changes->list; change < changes->list + CHANGES; change++) {
        if (change->number < oldest->number)
            oldest = change;
        if (change->number == 0 || !prefix_equals(&change->route.dst, &route->dst))
            continue;
        n++;
        if (!own || change->number < own->number)
            own = change;
        if (change->route.backend == route->backend && (!last || change->number > last->number))
            last = change;
    }
    /* Only what goes along with the window is new, as the shortest timeout of retransmissions. */
    if (last && last->route.state == route->state && last->route.initcwnd == route->initcwnd &&
        strcmp(last->route.reason, route->reason) == 0)
        return;
    if (n == CHANGES_OF_ONE)
        oldest = own;
    *oldest = (struct change){
        .number = ++changes->n,
        .time = time(NULL),
        .route = *route,
    };
}

json_t *changes_json(const struct daemon *daemon, const struct riptide_prefix *dst)
{
    json_t *changes = json_array();
    uint64_t before = UINT64_MAX;

    for (int i = 0; i < CHANGES_OF_ONE; i++) {
        const struct change *next = NULL;

        for (size_t j = 0; j < CHANGES; j++) {
            const struct change *change = &daemon->changes.list[j];

            if (change->number > 0 && change->number < before &&
                prefix_equals(&change->route.dst, dst) && (!next || change->number > next->number))
                next = change;
        }
        if (!next)
            break;
        before = next->number;
        json_array_append_new(
            changes, json_pack("{s:I, s:s, s:s, s:I, s:o}", "time", (json_int_t)next->time, "by",
                               riptide_name(RIPTIDE_NAMES_BACKEND, next->route.backend), "state",
                               riptide_name(RIPTIDE_NAMES_ROUTE_STATE, next->route.state),
                               "initcwnd", (json_int_t)next->route.initcwnd, "reason",
                               text_or_null(next->route.reason)));
    }
    return changes;
}
