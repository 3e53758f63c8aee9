/* SPDX-License-Identifier: MIT */
/*
 * The arithmetic of links and paths. Pure; network.c chains these decisions, main.c acts on them.
 */
#include "path.h"

static uint64_t max_ns(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns > b_ns ? a_ns : b_ns;
}

/* splitmix64: eight bytes of state, good enough for loss, and any seed will do. */
static uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Rounds down, here and for the buffer: then k packets always fit where k times their size does. */
static uint64_t serialise_ns(const struct wan_link *link, uint64_t length_bytes)
{
    return length_bytes * 8 * WAN_NS_PER_S / link->rate_bps;
}

enum wan_verdict wan_link_enqueue(struct wan_link *link, uint64_t now_ns, size_t length_bytes,
                                  uint64_t *leave_nsp)
{
    uint64_t leave_ns = now_ns;

    if (link->rate_bps) {
        leave_ns = max_ns(now_ns, link->free_ns) + serialise_ns(link, length_bytes);
        if (leave_ns - now_ns > serialise_ns(link, link->buffer_bytes))
            return WAN_DROP_BUFFER;
        link->free_ns = leave_ns;
    }
    *leave_nsp = leave_ns;
    return WAN_PASS;
}

enum wan_verdict wan_path_enqueue(struct wan_path *path, uint64_t now_ns, size_t length_bytes,
                                  uint64_t *due_nsp)
{
    /*
     * Two numbers for every packet, needed or not: packet n of a path is lost, or not, whatever
     * the buffer did to those before it and whether or not there is jitter.
     */
    uint64_t chance = random_next(&path->random_state) >> 11;
    uint64_t jitter_ns = random_next(&path->random_state) % (path->jitter_ns + 1);
    uint64_t leave_ns, due_ns;

    if (wan_link_enqueue(&path->link, now_ns, length_bytes, &leave_ns) != WAN_PASS)
        return WAN_DROP_BUFFER;
    /* Lost on the wire, not before it: the packet has used up its share of the rate. */
    if (chance < path->loss)
        return WAN_DROP_LOSS;
    due_ns = max_ns(leave_ns + path->delay_ns + jitter_ns, path->last_due_ns);
    path->last_due_ns = due_ns;
    *due_nsp = due_ns;
    return WAN_PASS;
}
