/* SPDX-License-Identifier: MIT */
/*
 * What the WAN does to one packet: links that serialise and drop, paths that delay and lose.
 * Pure: time comes in as an argument and goes out as an answer. Holding packets is queue.c's job.
 */
#ifndef WAN_PATH_H
#define WAN_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "histogram.h"

#define WAN_NS_PER_S    UINT64_C(1000000000)
#define WAN_LOSS_ALWAYS (UINT64_C(1) << 53)

enum wan_verdict {
    WAN_PASS,
    WAN_DROP_BUFFER,
    WAN_DROP_LOSS,
};

/* A transmitter with a drop-tail buffer, which holds packets that are not yet serialised. */
struct wan_link {
    uint64_t rate_bps; /* 0: infinitely fast, never drops */
    uint64_t buffer_bytes;
    uint64_t free_ns; /* when the last accepted packet will have been serialised */
};

struct wan_path {
    struct wan_link link;
    uint64_t delay_ns;
    uint64_t jitter_ns; /* up to this much more delay, uniform */
    uint64_t loss;      /* of WAN_LOSS_ALWAYS */
    uint64_t seed;
    uint64_t random_state;
    uint64_t last_due_ns;

    uint64_t packets, bytes;
    uint64_t delivered_packets, delivered_bytes;
    uint64_t dropped_buffer, dropped_loss, dropped_memory, undelivered;
    struct wan_histogram late_ns;
};

/* When the link has sent a packet that arrives now; *leave_nsp is set on WAN_PASS alone. */
enum wan_verdict wan_link_enqueue(struct wan_link *link, uint64_t now_ns, size_t length_bytes,
                                  uint64_t *leave_nsp);

/* When a packet that enters the path now comes out of it; *due_nsp is set on WAN_PASS alone. */
enum wan_verdict wan_path_enqueue(struct wan_path *path, uint64_t now_ns, size_t length_bytes,
                                  uint64_t *due_nsp);

#endif
