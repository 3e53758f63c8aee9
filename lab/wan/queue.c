/* SPDX-License-Identifier: MIT */
/*
 * The heap. The keys sit in the slots, so that sifting never touches a packet's memory.
 */
#include "queue.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

int wan_queue_init(struct wan_queue *queue, size_t capacity)
{
    struct wan_queue_slot *slots = calloc(capacity, sizeof(*slots));

    if (!slots)
        return -ENOMEM;
    *queue = (struct wan_queue){ .slots = slots, .capacity = capacity };
    return 0;
}

static bool before(const struct wan_queue_slot *a, const struct wan_queue_slot *b)
{
    return a->due_ns < b->due_ns || (a->due_ns == b->due_ns && a->sequence < b->sequence);
}

void wan_queue_push(struct wan_queue *queue, uint64_t due_ns, struct wan_packet *packet)
{
    struct wan_queue_slot slot = { due_ns, queue->sequence++, packet };
    size_t at = queue->count++;

    for (; at && before(&slot, &queue->slots[(at - 1) / 2]); at = (at - 1) / 2)
        queue->slots[at] = queue->slots[(at - 1) / 2];
    queue->slots[at] = slot;
}

struct wan_packet *wan_queue_pop_due(struct wan_queue *queue, uint64_t now_ns)
{
    struct wan_queue_slot *slots = queue->slots, last;
    struct wan_packet *packet;
    size_t at = 0, child;

    if (!queue->count || slots[0].due_ns > now_ns)
        return NULL;
    packet = slots[0].packet;
    last = slots[--queue->count];
    while ((child = 2 * at + 1) < queue->count) {
        if (child + 1 < queue->count && before(&slots[child + 1], &slots[child]))
            child++;
        if (!before(&slots[child], &last))
            break;
        slots[at] = slots[child];
        at = child;
    }
    slots[at] = last;
    return packet;
}

uint64_t wan_queue_next_ns(const struct wan_queue *queue)
{
    return queue->count ? queue->slots[0].due_ns : UINT64_MAX;
}
