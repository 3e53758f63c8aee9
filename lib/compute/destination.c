/* SPDX-License-Identifier: MIT */
/*
 * The places of destinations: which peers share one, which one gives way to another; and the
 * samples added to them, for every connection of the host in every round. Pure except for memory.
 */
#include "estimator.h"
#include "prefix.h"

#include <errno.h>
#include <sys/socket.h>

/* A prefix of this length has a bounded share of all places: share_limit(). */
enum { SHARE_LEN4 = 24, SHARE_LEN6 = 64 };

struct riptide_prefix prefix_of(const struct riptide_prefix *dst, uint8_t len4, uint8_t len6)
{
    uint8_t len = dst->family == AF_INET ? len4 : len6;
    struct riptide_prefix within = *dst;

    if (dst->len > len)
        prefix_truncate(&within, len);
    return within;
}

static void leave_share(struct riptide_estimator *estimator, const struct riptide_prefix *dst)
{
    const struct riptide_prefix within = prefix_of(dst, SHARE_LEN4, SHARE_LEN6);

    shares_leave(&estimator->shares, &within);
}

void destination_remove(struct riptide_estimator *estimator, uint32_t slot)
{
    leave_share(estimator, &destination_at(estimator, slot)->dst);
    prefix_table_remove(&estimator->table, slot);
}

/* Whether the sample of a destination that is not known yet counts for the policy. */
static bool is_evidence(struct riptide_estimator *estimator, const struct riptide_sample *sample)
{
    uint64_t memory[RIPTIDE_POLICY_MEMORY_BYTES / 8] = { 0 };

    estimator->input.dst = &sample->dst;
    estimator->input.cwnd = 0;
    return estimator->config.policy->add(&estimator->input, memory, sample) == RIPTIDE_LEFT_OUT_NOT;
}

/*
 * Finds the idlest one of the next few destinations, as caches do: as the few are taken in turn,
 * all are looked at in the end. `within`: a prefix whose share is full, NULL: the whole table is.
 * In a share few of them may be, so that the search may find none. Returns NONE then, and where
 * none is idler than a new destination: otherwise open connections would take places from each
 * other.
 *
 * Idleness is the time since the tick of its last connections, divided by how many counted in it.
 * The time is a second longer, so that their number decides in the newest tick. The number is one
 * more, and at most MOST_WEIGHT, so that many connections of one moment do not keep a place for
 * long.
 */
static uint32_t find_idlest(struct riptide_estimator *estimator,
                            const struct riptide_prefix *within, bool with_window)
{
    enum { LOOKS = 16, MOST_WEIGHT = 32 };
    /* The idleness of a new destination: one connection that counts now. */
    double idlest = (double)NS_PER_S / 2;
    uint32_t found = NONE;

    for (int i = 0; i < LOOKS; i++) {
        uint32_t slot = estimator->hand++ % estimator->table.n_slots;
        const struct destination *destination = destination_at(estimator, slot);
        uint64_t age_ns = estimator->input.now_ns - (uint64_t)destination->updated_ns;
        double idleness = (double)(age_ns + NS_PER_S) /
                          lesser(destination->last.n[RIPTIDE_LEFT_OUT_NOT] + 1, MOST_WEIGHT);
        /* It has samples of the coming tick, or is in the list of those to be popped. */
        bool is_needed = destination->flags & (IS_TOUCHED | IS_CHANGED);

        if (!is_needed && idleness > idlest && (with_window || !has_window(destination)) &&
            (!within || prefix_contains(within, &destination->dst))) {
            idlest = idleness;
            found = slot;
        }
    }
    return found;
}

/*
 * Makes a place in a full table, or in the full share of a prefix (`within`). Outcomes:
 * RIPTIDE_E_FULL: none gives way. Errors: -ENOMEM.
 */
static int make_room(struct riptide_estimator *estimator, const struct riptide_prefix *within,
                     const struct riptide_sample *sample)
{
    uint32_t slot = find_idlest(estimator, within, sample && is_evidence(estimator, sample));
    struct destination *idlest;

    estimator->stats.is_full |= !within;
    if (slot == NONE)
        return RIPTIDE_E_FULL;
    idlest = destination_at(estimator, slot);
    if (idlest->popped.cwnd > 0 && array_append(&estimator->withdrawn, &estimator->n_withdrawn,
                                                &idlest->dst, sizeof(idlest->dst)) != 0)
        return -ENOMEM;
    estimator->stats.destinations -= has_window(idlest);
    destination_remove(estimator, slot);
    return 0;
}

int destination_get(struct riptide_estimator *estimator, const struct riptide_prefix *dst,
                    const struct riptide_sample *sample, uint32_t *slotp)
{
    const struct riptide_prefix within = prefix_of(dst, SHARE_LEN4, SHARE_LEN6);
    uint32_t n_within;
    int r;

    *slotp = prefix_table_find(&estimator->table, dst);
    if (*slotp != NONE)
        return 0;
    r = shares_enter(&estimator->shares, &within, &n_within);
    if (r != 0)
        return r;
    if (n_within > share_limit(estimator->table.max))
        r = make_room(estimator, &within, sample);
    else if (estimator->table.n == estimator->table.max)
        r = make_room(estimator, NULL, sample);
    if (r == 0)
        r = prefix_table_insert(&estimator->table, dst, slotp);
    if (r == 0)
        destination_at(estimator, *slotp)->smoothed = NO_HISTORY;
    else
        leave_share(estimator, dst);
    return r;
}

/*
 * Keeps the smallest path MTU of open connections for the time to live, as connections that have
 * not met it come and go. 68 is what the kernel shows for a connection whose route was just
 * replaced, until it sends; no device has such an MTU.
 */
static inline void note_pmtu(const struct riptide_estimator *estimator,
                             struct destination *destination, const struct riptide_sample *sample)
{
    uint32_t bytes = sample->pmtu_bytes, now_s = (uint32_t)(estimator->input.now_ns / NS_PER_S);

    if (bytes <= 68 || bytes > UINT16_MAX || sample->closed)
        return;
    if (bytes > destination->pmtu_bytes && destination->pmtu_bytes > 0 &&
        now_s - destination->pmtu_s < estimator->config.ttl_ns / NS_PER_S)
        return;
    destination->pmtu_bytes = (uint16_t)bytes;
    destination->pmtu_s = now_s;
}

/*
 * Adds the sample to `dst`, which may be in that slot. The address is checked only where it has no
 * destination yet: an equal one is as valid.
 */
static inline int add(struct riptide_estimator *estimator, const struct riptide_sample *sample,
                      const struct riptide_prefix *dst, uint32_t slot)
{
    struct destination *destination;
    enum riptide_left_out reason;
    uint16_t *n;
    int r;

    if (slot != NONE && !prefix_equal(&destination_at(estimator, slot)->dst, dst))
        slot = prefix_table_find(&estimator->table, dst);
    /* It counted while it was open, unless its first flight ended only as it closed. */
    if (sample->closed && sample->shown && !sample->flight_ended)
        return RIPTIDE_E_LEFT_OUT;
    /* The window is 0 or from 2^31 on, which one comparison finds; or the address is no host's. */
    if (sample->cwnd - 1 >= (1u << 31) - 1 ||
        (slot == NONE && !prefix_is_valid_host(&sample->dst))) {
        estimator->stats.invalid++;
        return RIPTIDE_E_INVALID;
    }
    if (slot == NONE && (r = destination_get(estimator, dst, sample, &slot)) != 0) {
        estimator->stats.overflow += r == RIPTIDE_E_FULL;
        return r;
    }
    destination = destination_at(estimator, slot);
    destination->flags |= IS_TOUCHED;
    reason = estimator->config.policy->add(input_of(estimator, destination),
                                           memory_of(estimator, destination), sample);
    if (reason > RIPTIDE_LEFT_OUT_REASONS) {
        estimator->stats.invalid++;
        reason = RIPTIDE_LEFT_OUT_UNMEASURED;
    }
    n = &destination->tick.n[reason];
    *n = (uint16_t)(*n + (*n < UINT16_MAX));
    note_pmtu(estimator, destination, sample);
    estimator->stats.samples++;
    if (reason != RIPTIDE_LEFT_OUT_NOT)
        return RIPTIDE_E_LEFT_OUT;
    /* 0 is unknown, and is larger than all others here. */
    if (sample->min_rtt_us - 1 < destination->tick.min_rtt_us - 1)
        destination->tick.min_rtt_us = sample->min_rtt_us;
    return 0;
}

RIPTIDE_PUBLIC int riptide_estimator_add_all(struct riptide_estimator *estimator,
                                             const struct riptide_sample *samples, size_t n,
                                             int *outcomes)
{
    const struct riptide_estimator_config *config = &estimator->config;
    const uint8_t len4 = config->prefix_len4, len6 = config->prefix_len6;
    struct riptide_prefix groups[RIPTIDE_POPPED_SAMPLES];
    const struct riptide_prefix *dsts[RIPTIDE_POPPED_SAMPLES] = { NULL };
    uint32_t slots[RIPTIDE_POPPED_SAMPLES];

    for (size_t i = 0; i < n; i++) {
        dsts[i] = &samples[i].dst;
        if (len4 == 32 && len6 == 128)
            continue;
        groups[i] = (struct riptide_prefix){ 0 }; /* of no host: it will be refused */
        if (prefix_is_valid_host(dsts[i]))
            groups[i] = prefix_of(dsts[i], len4, len6);
        dsts[i] = &groups[i];
    }
    prefix_table_guess(&estimator->table, dsts, n, slots);
    for (size_t i = 0; i < n; i++) {
        outcomes[i] = add(estimator, &samples[i], dsts[i], slots[i]);
        if (outcomes[i] < 0)
            return outcomes[i];
    }
    return 0;
}

RIPTIDE_PUBLIC int riptide_estimator_add(struct riptide_estimator *estimator,
                                         const struct riptide_sample *sample)
{
    int outcome, r = riptide_estimator_add_all(estimator, sample, 1, &outcome);

    return r < 0 ? r : outcome;
}
