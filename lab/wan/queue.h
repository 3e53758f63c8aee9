/* SPDX-License-Identifier: MIT */
/* Packets in order of time, and of arrival where times are equal: a binary heap. Pure. */
#ifndef WAN_QUEUE_H
#define WAN_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#define QUEUE_PACKETS_MAX 131072 /* some 200 MB at 1500 bytes */

struct packet;

/* The keys sit in the slots, so that sifting never touches a packet's memory. */
struct slot {
    uint64_t due_ns;
    uint64_t sequence;
    struct packet *packet;
};

struct queue {
    struct slot slots[QUEUE_PACKETS_MAX];
    size_t count;
    uint64_t sequence;
};

void queue_push(struct queue *queue, uint64_t due_ns, struct packet *packet); /* while not full */
struct packet *queue_pop_due(struct queue *queue, uint64_t now_ns); /* NULL: none is due yet */
uint64_t queue_next_ns(const struct queue *queue);                  /* UINT64_MAX: empty */

#endif
