/* SPDX-License-Identifier: MIT */
#include "queue.h"

#include <stdbool.h>

static bool before(const struct slot *a, const struct slot *b)
{
    return a->due_ns < b->due_ns || (a->due_ns == b->due_ns && a->sequence < b->sequence);
}

void queue_push(struct queue *queue, uint64_t due_ns, struct packet *packet)
{
    struct slot slot = { due_ns, queue->sequence++, packet };
    size_t at = queue->count++;

    for (; at && before(&slot, &queue->slots[(at - 1) / 2]); at = (at - 1) / 2)
        queue->slots[at] = queue->slots[(at - 1) / 2];
    queue->slots[at] = slot;
}

struct packet *queue_pop_due(struct queue *queue, uint64_t now_ns)
{
    struct slot *slots = queue->slots, last;
    struct packet *packet;
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

uint64_t queue_next_ns(const struct queue *queue)
{
    return queue->count ? queue->slots[0].due_ns : UINT64_MAX;
}
