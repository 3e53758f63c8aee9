/* SPDX-License-Identifier: MIT */
/*
 * Lines counted by their kind. See repeats.h.
 */
#include "repeats.h"

#include <stdbool.h>
#include <stddef.h>

/* A free one becomes this kind's. */
static struct repeat *find(struct repeats *repeats, const void *kind, uint64_t now_ns)
{
    for (size_t i = 0; i < REPEATS_KINDS; i++) {
        struct repeat *repeat = &repeats->kinds[i];

        if (!repeat->kind)
            *repeat = (struct repeat){ .kind = kind, .since_ns = now_ns };
        if (repeat->kind == kind)
            return repeat;
    }
    return NULL;
}

static bool is_over(const struct repeat *repeat, uint64_t now_ns)
{
    return now_ns - repeat->since_ns >= REPEATS_INTERVAL_NS;
}

struct repeat *repeats_hold(struct repeats *repeats, const void *kind, uint64_t now_ns)
{
    struct repeat *repeat = find(repeats, kind, now_ns);

    if (!repeat)
        return NULL;
    if (is_over(repeat, now_ns) && repeat->held == 0) {
        repeat->since_ns = now_ns;
        repeat->n = 0;
    }
    if (repeat->n < REPEATS_BURST) {
        repeat->n++;
        return NULL;
    }
    repeat->held++;
    return repeat;
}

const struct repeat *repeats_due(struct repeats *repeats, uint64_t now_ns, uint32_t *held)
{
    for (size_t i = 0; i < REPEATS_KINDS && repeats->kinds[i].kind; i++) {
        struct repeat *repeat = &repeats->kinds[i];

        if (repeat->held == 0 || !is_over(repeat, now_ns))
            continue;
        *held = repeat->held;
        repeat->held = 0;
        return repeat;
    }
    return NULL;
}
