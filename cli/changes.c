/* SPDX-License-Identifier: MIT */
/* The latest changes of windows: a busy destination cannot push out those of others. */
#include "daemon.h"

#include "members.h"
#include "prefixes.h"

#include <string.h>
#include <time.h>

static struct destination_changes *find(struct changes *changes, const struct riptide_prefix *dst)
{
    for (size_t i = 0; i < CHANGES; i++) {
        if (prefix_equals(&changes->list[i].latest[0].route.dst, dst))
            return &changes->list[i];
    }
    return NULL;
}

void changes_note(struct changes *changes, const struct riptide_route *route)
{
    struct destination_changes *own = find(changes, &route->dst);
    const struct change *last = NULL;

    if (!own) {
        own = &changes->list[changes->n++ % CHANGES];
        *own = (struct destination_changes){ .latest = { { .time = 0 } } };
    }
    for (size_t i = CHANGES_OF_ONE; i-- > 0;) {
        if (own->latest[i].route.backend == route->backend)
            last = &own->latest[i];
    }
    /* Only what goes along with the window is new, as the shortest timeout of retransmissions. */
    if (last && last->route.state == route->state && last->route.initcwnd == route->initcwnd &&
        strcmp(last->route.reason, route->reason) == 0)
        return;
    memmove(own->latest + 1, own->latest, sizeof(own->latest) - sizeof(own->latest[0]));
    own->latest[0] = (struct change){ .time = time(NULL), .route = *route };
}

json_t *changes_json(struct changes *changes, const struct riptide_prefix *dst)
{
    const struct destination_changes *own = find(changes, dst);
    json_t *list = json_array();

    for (size_t i = 0; own && i < CHANGES_OF_ONE && own->latest[i].time > 0; i++) {
        const struct riptide_route *route = &own->latest[i].route;

        json_array_append_new(
            list, json_pack("{s:I, s:s, s:s, s:I, s:o}", "time", (json_int_t)own->latest[i].time,
                            "by", riptide_name(RIPTIDE_NAMES_BACKEND, route->backend), "state",
                            riptide_name(RIPTIDE_NAMES_ROUTE_STATE, route->state), "initcwnd",
                            (json_int_t)route->initcwnd, "reason", text_or_null(route->reason)));
    }
    return list;
}
