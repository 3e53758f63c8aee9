/* SPDX-License-Identifier: MIT */
/*
 * Lines counted by their kind. See log.h.
 */
#include "log.h"

uint32_t repeats_count(struct repeats *repeats, const void *kind, uint64_t now_ns)
{
    struct repeat *repeat = repeats->kinds;
    const struct repeat *end = repeat + REPEATS_KINDS;

    while (repeat < end && repeat->kind && repeat->kind != kind)
        repeat++;
    if (repeat == end)
        return 1;
    if (!repeat->kind || now_ns - repeat->since_ns >= REPEATS_INTERVAL_NS)
        *repeat = (struct repeat){ .kind = kind, .since_ns = now_ns };
    return ++repeat->n;
}
