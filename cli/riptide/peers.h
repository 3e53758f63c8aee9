/* SPDX-License-Identifier: MIT */
/* Connections summed up for each peer: a hash table that grows. Pure. */
#ifndef CLI_PEERS_H
#define CLI_PEERS_H

#include <riptide/observe.h>

/* As large as a cache line, and aligned to one. */
struct peer {
    _Alignas(64) struct riptide_prefix dst;
    uint32_t connections; /* 0: the slot is free */
    uint32_t cwnd_max;    /* segments */
    uint32_t min_rtt_us;  /* 0: no connection has measured it */
    uint64_t cwnd_sum;    /* segments */
    uint64_t acked_bytes;
    uint64_t retrans_segs;
};

struct peers {
    struct peer *slots;
    size_t n_slots; /* a power of two, or 0 */
    size_t n;
    /* Secret random numbers: who can choose addresses must not make all of them collide. */
    uint64_t keys[2];
};

/*
 * Adds connections, at most RIPTIDE_POPPED_SAMPLES. Between two samples of a peer a dump has
 * touched so much memory that the peer has left the caches: all are fetched before the first one is
 * added. -ENOMEM: none is.
 */
int peers_add(struct peers *peers, const struct riptide_sample *const *samples, size_t n);

/*
 * Puts all `n` peers to the begin of `slots`, those that acknowledged most first, then by address.
 * From then on only peers_clear may follow.
 */
void peers_sort(struct peers *peers);

/* Forgets all, and keeps the memory for as many. */
void peers_clear(struct peers *peers);

void peers_deinit(struct peers *peers);

#endif
