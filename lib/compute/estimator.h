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
    /* Counts of samples: those that count, and others by reason. */
    COUNTS = 1 + RIPTIDE_LEFT_OUT_REASONS,
    /* A policy's memory up to this is in a destination itself. The built-in ones need no more. */
    SMALL_MEMORY_BYTES = 32,
    /* The smoothed window of a destination that has none. */
    NO_HISTORY = -1,
};

/* Flags of a destination. */
enum {
    IS_TOUCHED = 1 << 0, /* has samples of the coming tick */
    IS_CHANGED = 1 << 1, /* waits to be popped */
    IS_SHORT = 1 << 2,   /* its path is too short for a window */
};

/*
 * The part of an estimate that backends act on. A destination waits to be popped when this differs
 * from what was popped last. All 0: it has no window.
 */
struct given {
    uint32_t rto_min_us;
    uint16_t cwnd; /* segments, as the next two */
    uint16_t cwnd_max;
    uint16_t base_cwnd;
    uint16_t pmtu_bytes;
    uint16_t pacing_percent; /* RIPTIDE_AT_ONCE is cut off to 0xffff, which no other value is */
    bool may_lower;
    bool is_never_paced; /* its round trips are too short for that */
};
static_assert(sizeof(struct given) == 16, "it is compared as memory, without padding");

/* What the samples of a tick show of a destination, whatever the policy. */
struct sampled {
    uint16_t n[COUNTS];  /* how many, by enum riptide_left_out; at most 65535 of each */
    uint32_t min_rtt_us; /* the smallest of those that count; 0: unknown */
};

/*
 * A destination has a window; or it had samples that gave none, and is kept to say why; or it is
 * new. The members that a sample uses come first. With the memory of a simple policy they fill one
 * cache line; a second one would add half to the cost of a sample.
 */
struct destination {
    struct riptide_prefix dst;
    uint8_t flags;
    uint16_t cwnd;       /* window of new connections, segments; 0: none, or it is off */
    uint16_t base_cwnd;  /* window of the base route, segments; 0: unknown */
    uint16_t pmtu_bytes; /* see note_pmtu(); 0: unknown */
    struct sampled tick; /* of the coming tick */
    uint64_t memory[SMALL_MEMORY_BYTES / 8]; /* the policy's; a larger one is behind this struct */
    struct sampled last; /* of the last tick with samples. min_rtt_us is that of the last tick with
                            samples that count */
    double smoothed;     /* the policy's window, segments; NO_HISTORY: it has none */
    int64_t updated_ns;  /* when that was computed, or without a window, the last tick with samples;
                            below 0: before this host booted */
    uint32_t next_changed; /* slot of the next one that waits to be popped, or NONE */
    uint32_t pmtu_s;       /* when pmtu_bytes was shown last; wraps */
    struct given popped;   /* what was popped last */
};
static_assert(sizeof(struct destination) <= 128, "two cache lines, the budget of a destination");

struct riptide_estimator {
    struct riptide_estimator_config config;
    struct prefix_set scope; /* a copy of the configuration's */
    struct prefix_table table;
    struct shares shares; /* of all destinations in the table */
    struct riptide_estimator_stats stats;
    struct riptide_policy_input input; /* its now_ns: of the last tick, or load */
    uint32_t changed;                  /* slot of the first that waits to be popped, or NONE */
    bool has_ticked;                   /* input.interval_ns can be known from the next tick on */
    uint32_t hand; /* where the next search for a destination that gives way begins */
    /* Destinations that gave way. They are popped before all others. NULL: none so far. */
    struct riptide_prefix *withdrawn;
    uint32_t n_withdrawn;
    struct hints hints;
    struct riptide_estimate popped; /* what the last pop has given to the caller */
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

/* What the policy's functions read of a destination. It is valid until the next call. */
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

/*
 * Takes the caller's values over the defaults, and checks them. `config` NULL: the defaults.
 * Errors: -EINVAL, -E2BIG, with a line.
 */
int estimator_config_take(struct riptide_estimator_config *taken,
                          const struct riptide_estimator_config *config,
                          struct riptide_error *error);

/*
 * Finds the slot of a destination, or makes one for it. In a full table, or in a full share of it,
 * another destination gives way. One with a window gives way only if `sample` counts for the
 * policy; NULL: there is no sample. Outcomes: RIPTIDE_E_FULL: none gives way. Errors: -ENOMEM.
 */
int destination_get(struct riptide_estimator *estimator, const struct riptide_prefix *dst,
                    const struct riptide_sample *sample, uint32_t *slotp);

/* `dst`, shortened to at most len4 bits if it is IPv4, len6 if it is IPv6. */
struct riptide_prefix prefix_of(const struct riptide_prefix *dst, uint8_t len4, uint8_t len6);

/* All that is known of a destination: its evidence, its bounds, and the window of the last tick. */
struct riptide_estimate estimate_of(const struct riptide_estimator *estimator,
                                    struct destination *destination);

/* Frees its slot and its place in a share. It must not wait to be popped. */
void destination_remove(struct riptide_estimator *estimator, uint32_t slot);

/*
 * The most destinations within one share of a table with so many places: a sixteenth, rounded up.
 */
static inline uint32_t share_limit(uint32_t max_destinations)
{
    return (max_destinations + 15) / 16;
}

/*
 * Takes over a loaded window, before bounds, as if it had been computed here at updated_ns.
 * Outcomes and errors: as destination_get; RIPTIDE_E_LEFT_OUT: the destination has a window that is
 * as new.
 */
int destination_adopt(struct riptide_estimator *estimator, const struct riptide_estimate *loaded);

/* Bounds the window anew, and queues the destination to be popped if a backend must act. */
void destination_refresh(struct riptide_estimator *estimator, uint32_t slot);

/*
 * Whether a sample is evidence of its path: it was used, is not idle, and has the figures of a
 * rate. Idle is about one RTO, after which the next transmission shrinks the window
 * (tcp_cwnd_restart in net/ipv4/tcp_output.c).
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
