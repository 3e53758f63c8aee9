/* SPDX-License-Identifier: MIT */
#include "peers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Of the slots of an empty table. */
enum { FIRST_SLOTS = 64 };

/*
 * The slot where the search for a peer begins: the upper half of a sum of products with random odd
 * numbers (Dietzfelbinger et al., "A Reliable Randomized Algorithm for the Closest-Pair Problem",
 * 1997).
 */
static size_t find_first(const struct peers *peers, const struct riptide_prefix *dst)
{
    uint64_t words[2], hash;

    memcpy(words, dst->addr, sizeof(words));
    hash = words[0] * (peers->keys[0] | 1) + words[1] * (peers->keys[1] | 1);
    return (hash >> 32) & (peers->n_slots - 1);
}

/* The slot of a peer, or the free one where it belongs. */
static struct peer *find(const struct peers *peers, const struct riptide_prefix *dst)
{
    size_t i = find_first(peers, dst);

    /* At most three of four slots are taken: a free one ends the search. */
    while (peers->slots[i].connections > 0 && memcmp(&peers->slots[i].dst, dst, sizeof(*dst)) != 0)
        i = (i + 1) & (peers->n_slots - 1);
    return &peers->slots[i];
}

static int grow(struct peers *peers)
{
    struct peers larger = *peers;
    size_t n_bytes;

    larger.n_slots = peers->n_slots > 0 ? 2 * peers->n_slots : FIRST_SLOTS;
    n_bytes = larger.n_slots * sizeof(*larger.slots);
    larger.slots = aligned_alloc(_Alignof(struct peer), n_bytes);
    if (!larger.slots)
        return -ENOMEM;
    memset(larger.slots, 0, n_bytes);
    for (size_t i = 0; i < peers->n_slots; i++) {
        if (peers->slots[i].connections > 0)
            *find(&larger, &peers->slots[i].dst) = peers->slots[i];
    }
    free(peers->slots);
    *peers = larger;
    return 0;
}

static void add(struct peers *peers, const struct riptide_sample *sample)
{
    struct peer *peer = find(peers, &sample->dst);

    if (peer->connections == 0) {
        peer->dst = sample->dst;
        peers->n++;
    }
    peer->connections++;
    peer->cwnd_sum += sample->cwnd;
    if (sample->cwnd > peer->cwnd_max)
        peer->cwnd_max = sample->cwnd;
    if (sample->min_rtt_us > 0 && (peer->min_rtt_us == 0 || sample->min_rtt_us < peer->min_rtt_us))
        peer->min_rtt_us = sample->min_rtt_us;
    peer->acked_bytes += sample->acked_bytes;
    peer->retrans_segs += sample->retrans_segs;
}

int peers_add(struct peers *peers, const struct riptide_sample *const *samples, size_t n)
{
    while (4 * (peers->n + n) > 3 * peers->n_slots) {
        if (grow(peers) < 0)
            return -ENOMEM;
    }
    for (size_t i = 0; i < n; i++)
        __builtin_prefetch(&peers->slots[find_first(peers, &samples[i]->dst)], 1);
    for (size_t i = 0; i < n; i++)
        add(peers, samples[i]);
    return 0;
}

static int compare(const void *left, const void *right)
{
    const struct peer *a = left, *b = right;

    if (a->acked_bytes != b->acked_bytes)
        return a->acked_bytes < b->acked_bytes ? 1 : -1;
    return memcmp(&a->dst, &b->dst, sizeof(a->dst));
}

void peers_sort(struct peers *peers)
{
    size_t n = 0;

    for (size_t i = 0; i < peers->n_slots; i++) {
        if (peers->slots[i].connections > 0)
            peers->slots[n++] = peers->slots[i];
    }
    if (n > 0)
        qsort(peers->slots, n, sizeof(*peers->slots), compare);
}

void peers_clear(struct peers *peers)
{
    if (peers->n_slots > 0)
        memset(peers->slots, 0, peers->n_slots * sizeof(*peers->slots));
    peers->n = 0;
}

void peers_deinit(struct peers *peers)
{
    free(peers->slots);
}
