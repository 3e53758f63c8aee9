/* SPDX-License-Identifier: MIT */
#include "changes.h"

#include "members.h"

#include <string.h>

static struct destination_changes *find(struct changes *changes, const struct riptide_prefix *dst)
{
    for (size_t i = 0; i < CHANGES; i++) {
        if (memcmp(&changes->list[i].latest[0].route.dst, dst, sizeof(*dst)) == 0)
            return &changes->list[i];
    }
    return NULL;
}

/* The latest change by one backend; NULL: none is known. */
static const struct change *find_latest(const struct destination_changes *own, uint32_t backend)
{
    for (size_t i = 0; i < CHANGES_OF_ONE; i++) {
        if (own->latest[i].route.backend == backend)
            return &own->latest[i];
    }
    return NULL;
}

enum riptide_reason changes_find_bound(struct changes *changes, const struct riptide_route *route)
{
    const struct destination_changes *own = find(changes, &route->dst);
    const struct change *last = own ? find_latest(own, route->backend) : NULL;

    return last && last->route.initcwnd == route->initcwnd ? last->route.bound
                                                           : RIPTIDE_REASON_NONE;
}

void changes_note(struct changes *changes, const struct riptide_route *route, time_t now)
{
    struct destination_changes *own = find(changes, &route->dst);
    const struct change *last;

    if (!own) {
        own = &changes->list[changes->n++ % CHANGES];
        *own = (struct destination_changes){ .latest = { { .time = 0 } } };
    }
    last = find_latest(own, route->backend);
    /* The same window may be written again with another rto_min, which is no change of it. */
    if (last && last->route.state == route->state && last->route.initcwnd == route->initcwnd &&
        last->route.reason_code == route->reason_code && last->route.bound == route->bound &&
        last->route.error == route->error)
        return;
    memmove(own->latest + 1, own->latest, sizeof(own->latest) - sizeof(own->latest[0]));
    own->latest[0] = (struct change){ .time = now, .route = *route };
}

static json_t *change_json(const struct change *change)
{
    const struct riptide_route *route = &change->route;

    return json_pack("{s:I, s:s, s:s, s:I, s:o}", "time", (json_int_t)change->time, "by",
                     riptide_name(RIPTIDE_NAMES_BACKEND, route->backend), "state",
                     riptide_name(RIPTIDE_NAMES_ROUTE_STATE, route->state), "initcwnd",
                     (json_int_t)route->initcwnd, "reason", text_or_null(route->reason));
}

json_t *changes_json(struct changes *changes, const struct riptide_prefix *dst)
{
    const struct destination_changes *own = find(changes, dst);
    json_t *list = json_array();

    for (size_t i = 0; own && i < CHANGES_OF_ONE && own->latest[i].time > 0; i++)
        json_array_append_new(list, change_json(&own->latest[i]));
    return list;
}
