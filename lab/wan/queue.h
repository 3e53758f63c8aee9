/* SPDX-License-Identifier: MIT */
/*
 * Packets in order of time: a binary heap of fixed capacity. Pure.
 * Packets that are due at the same time come out in the order in which they went in.
 */
#ifndef WAN_QUEUE_H
#define WAN_QUEUE_H

#include <stddef.h>
#include <stdint.h>

struct wan_packet;

struct wan_queue_slot {
    uint64_t due_ns;
    uint64_t sequence;
    struct wan_packet *packet;
};

struct wan_queue {
    struct wan_queue_slot *slots;
    size_t count, capacity;
    uint64_t sequence;
};

int wan_queue_init(struct wan_queue *queue, size_t capacity); /* -ENOMEM */
void wan_queue_push(struct wan_queue *queue, uint64_t due_ns,
                    struct wan_packet *packet); /* only while count < capacity */
struct wan_packet *wan_queue_pop_due(struct wan_queue *queue,
                                     uint64_t now_ns);     /* NULL: none is due yet */
uint64_t wan_queue_next_ns(const struct wan_queue *queue); /* UINT64_MAX: empty */

#endif
