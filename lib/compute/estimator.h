/* SPDX-License-Identifier: MIT */
/* The data of an estimator, and what the files of this folder give each other. */
#ifndef RIPTIDE_LIB_COMPUTE_ESTIMATOR_H
#define RIPTIDE_LIB_COMPUTE_ESTIMATOR_H

#include "compute/bounds.h"
#include "compute/shares.h"
#include "internal.h"
#include "prefix_set.h"
#include "prefix_table.h"

#include <assert.h>
#include <riptide/compute.h>
#include <stdio.h>

#define NONE PREFIX_TABLE_NONE

#define TTL_DEFAULT_NS   (90 * NS_PER_S)
#define CWND_MAX_DEFAULT 100

enum {
    COUNTS = 1 + RIPTIDE_LEFT_OUT_REASONS, /* of samples: those that count, and others by reason */
    SMALL_MEMORY_BYTES = 32, /* of a policy: in a destination; the built-in ones need no more */
    NO_HISTORY = -1,         /* the smoothed window of a destination without one */
};

/* Flags of a destination. */
enum {
    IS_TOUCHED = 1 << 0, /* has samples of the coming tick */
    IS_CHANGED = 1 << 1, /* waits to be popped */
};

/* What of an estimate a backend acts on: it is popped when this changes. All 0: no window. */
struct given {
    uint32_t rto_min_us;
    uint16_t cwnd, cwnd_max, base_cwnd;
    uint16_t pmtu_bytes;
    uint16_t pacing_percent; /* the low bits, which tell its values apart */
    bool may_lower;
    bool is_short; /* its round trips are too short to be paced */
};
static_assert(sizeof(struct given) == 16, "it is compared as memory, without padding");

/* What the samples of a tick show of a destination, whatever the policy. */
struct sampled {
    uint16_t n[COUNTS];  /* by enum riptide_left_out; at most 65535 */
    uint32_t min_rtt_us; /* of those that count; 0: unknown */
};

/*
 * It has a window; or it had samples that gave none, kept to say why; or it is new. The members
 * that a sample uses come first: with the memory of a simple policy they fill one cache line; a
 * second one would add half to the cost.
 */
struct destination {
    struct riptide_prefix dst;
    uint8_t flags;
    uint16_t cwnd;       /* with which its connections start; 0: none, or it is off */
    uint16_t base_cwnd;  /* window of the base route; 0: unknown */
    uint16_t pmtu_bytes; /* see note_pmtu(); 0: unknown */
    struct sampled tick; /* the coming one */
    uint64_t memory[SMALL_MEMORY_BYTES / 8]; /* the policy's; a larger one is behind this struct */
    struct sampled last; /* the last tick with samples; its min_rtt_us: with samples that count */
    double smoothed;     /* NO_HISTORY: it has no window */
    int64_t updated_ns;  /* negative: restored, computed before this host booted */
    uint32_t next_changed;
    uint32_t pmtu_s; /* when pmtu_bytes was shown last; wraps */
    struct given popped;
};
static_assert(sizeof(struct destination) <= 128, "two cache lines, the budget of a destination");

struct riptide_estimator {
    struct riptide_estimator_config config;
    struct prefix_set scope; /* of the configuration */
    struct prefix_table table;
    struct shares shares; /* of all destinations in the table */
    struct riptide_estimator_stats stats;
    struct riptide_policy_input input; /* its now_ns: of the last tick, or load */
    uint32_t changed;                  /* the first of those that wait to be popped, or NONE */
    bool has_ticked;
    uint32_t hand; /* where the next search for one that gives way begins */
    /* Destinations that gave way, to be withdrawn before others are popped; NULL: none so far. */
    struct riptide_prefix *withdrawn;
    uint32_t n_withdrawn;
    struct hints hints;
    struct riptide_estimate popped;
};

static inline struct destination *destination_at(const struct riptide_estimator *estimator,
                                                 uint32_t slot)
{
    return prefix_table_at(&estimator->table, slot);
}

/* The policy's memory. */
static inline void *memory_of(const struct riptide_estimator *estimator,
                              struct destination *destination)
{
    bool is_small = estimator->config.policy->memory_bytes <= SMALL_MEMORY_BYTES;

    return is_small ? destination->memory : (void *)(destination + 1);
}

/* Of the policy's functions. */
static inline const struct riptide_policy_input *input_of(struct riptide_estimator *estimator,
                                                          const struct destination *destination)
{
    struct riptide_policy_input *input = &estimator->input;

    input->dst = &destination->dst;
    input->cwnd = destination->cwnd;
    input->base_cwnd = destination->base_cwnd;
    return input;
}

#define FOR_EACH_SLOT(table, slot)                                                                 \
    for (uint32_t slot = prefix_table_next(table, 0); (slot) != NONE;                              \
         (slot) = prefix_table_next(table, (slot) + 1))

static inline bool has_window(const struct destination *destination)
{
    return destination->smoothed >= 0;
}

/* The caller's values over the defaults, checked. Errors: -EINVAL, -E2BIG, with a line. */
int estimator_config_take(struct riptide_estimator_config *taken,
                          const struct riptide_estimator_config *config,
                          struct riptide_error *error);

/*
 * The slot of that destination, which may be new: in a full table another one gives way, one with a
 * window only for a sample (or NULL) that is evidence. Outcomes: RIPTIDE_E_FULL. Errors: -ENOMEM.
 */
int destination_get(struct riptide_estimator *estimator, const struct riptide_prefix *dst,
                    const struct riptide_sample *sample, uint32_t *slotp);

/* Shortened to at most so many bits, by its family. */
struct riptide_prefix prefix_of(const struct riptide_prefix *dst, uint8_t len4, uint8_t len6);

/* All that is known of a destination: its evidence, and the window within its bounds. */
struct riptide_estimate estimate_of(const struct riptide_estimator *estimator,
                                    struct destination *destination);

void destination_remove(struct riptide_estimator *estimator, uint32_t slot);

/* The most destinations within one share, of a table with so many places. */
static inline uint32_t share_limit(uint32_t max_destinations)
{
    return (max_destinations + 15) / 16;
}

/*
 * The window, before bounds, as if it had been computed here at updated_ns. As destination_get; and
 * RIPTIDE_E_LEFT_OUT: it has one that is as new or newer.
 */
int destination_adopt(struct riptide_estimator *estimator, const struct riptide_estimate *loaded);

/* Bounds the window anew, and queues the destination to be popped if a backend must act. */
void destination_refresh(struct riptide_estimator *estimator, uint32_t slot);

/*
 * Left out if not used, idle, or without the figures of a rate. Idle is about one RTO, after which
 * the next transmission shrinks the window (tcp_cwnd_restart).
 */
static inline enum riptide_left_out evidence_check(const struct riptide_sample *sample)
{
    uint64_t idle_us = UINT64_C(1000) * sample->last_data_sent_ms;

    if (sample->data_segs_out == 0)
        return RIPTIDE_LEFT_OUT_UNUSED;
    if (idle_us > UINT64_C(2) * sample->rtt_us + RTO_MIN_US)
        return RIPTIDE_LEFT_OUT_IDLE;
    if (sample->mss_bytes == 0 || sample->min_rtt_us == 0 || sample->delivery_rate_Bps == 0)
        return RIPTIDE_LEFT_OUT_UNMEASURED;
    return RIPTIDE_LEFT_OUT_NOT;
}

extern const struct riptide_policy policy_careful;

#endif
