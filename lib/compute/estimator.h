/*
 * What an estimator is made of, for the files of this folder: estimator.c (rounds), bound.c (limits
 * and hints), explain.c (answers) and state.c (bytes).
 */
#ifndef RIPTIDE_LIB_COMPUTE_ESTIMATOR_H
#define RIPTIDE_LIB_COMPUTE_ESTIMATOR_H

#include "prefix_table.h"

#include <assert.h>
#include <riptide/compute.h>

#define NONE PREFIX_TABLE_NONE

enum { NO_HISTORY = -1 };

/* Flags of a destination. */
enum {
    IS_TOUCHED = 1 << 0,     /* has samples of the coming tick */
    IS_CHANGED = 1 << 1,     /* waits to be popped */
    IS_RTO_CHANGED = 1 << 2, /* its rto_min is not the one popped last */
    IS_DROP = 1 << 3,        /* the drop guard had its history forgotten */
};

/*
 * One destination; the memory of the policy and of the smoothing lie behind it. It is on up to
 * three lists through slot numbers: `touched`, `changed`, and the age list (those with a window,
 * oldest first, so that expiry looks at none that stay).
 */
struct destination {
    struct riptide_prefix dst;
    uint8_t flags;
    uint8_t rto_step; /* of rto_min, see bound.c; 0: none */
    uint16_t cwnd;    /* 0: none */
    uint16_t popped_cwnd;
    uint32_t next_touched;
    uint32_t n_counted; /* samples of the coming tick */
    uint16_t n_left_out[RIPTIDE_LEFT_OUT_REASONS];
    uint16_t left_out[RIPTIDE_LEFT_OUT_REASONS]; /* behind `combined` */
    uint32_t samples;                            /* likewise */
    float combined;
    uint32_t next_changed;
    uint32_t newer; /* on the age list */
    uint32_t older;
    double smoothed;    /* NO_HISTORY: never computed, or expired */
    int64_t updated_ns; /* negative: restored, computed before this host booted */
    uint64_t memory[];
};

/* Budget: a destination with the memory of any policy, sketches and histories excepted. */
#define DESTINATION_MAX_BYTES 128

/* For a policy's file: its memory fits the budget. */
#define ASSERT_MEMORY_FITS(type)                                                                   \
    static_assert(sizeof(struct destination) + sizeof(type) <= DESTINATION_MAX_BYTES,              \
                  "state of a destination is over its budget")

struct riptide_estimator {
    struct riptide_estimator_config config;
    const struct riptide_smoothing *smoothing;
    struct prefix_table table;
    struct riptide_estimator_stats stats;
    struct riptide_policy_input input;
    uint64_t now_ns; /* of the last tick */
    uint32_t touched;
    uint32_t changed_head, changed_tail;
    uint32_t oldest, newest;
    struct riptide_hint *hints;
    size_t n_hints;
    uint64_t next_hint_ns; /* when the first of them passes */
    struct riptide_estimate popped;
};

static inline struct destination *destination_at(const struct riptide_estimator *estimator,
                                                 uint32_t slot)
{
    return prefix_table_at(&estimator->table, slot);
}

static inline void *smoothing_memory(const struct riptide_estimator *estimator,
                                     struct destination *destination)
{
    return (unsigned char *)destination->memory + (estimator->config.policy->bytes + 7) / 8 * 8;
}

/* What counts as one destination with this peer. */
struct riptide_prefix destination_group(const struct riptide_estimator_config *config,
                                        const struct riptide_prefix *peer);

/* When it was computed: 0 where that was before boot. */
uint64_t destination_updated_ns(const struct destination *destination);

/* When its window passes; RIPTIDE_NEVER_NS where that is beyond all time. */
uint64_t destination_expires_ns(const struct riptide_estimator *estimator,
                                const struct destination *destination);

/* Takes it off the age list, or puts it there by its updated_ns. */
void age_list_remove(struct riptide_estimator *estimator, struct destination *destination);
void age_list_insert(struct riptide_estimator *estimator, uint32_t slot);

/* Puts it in line to be popped if there is something to say. */
void mark_changed(struct riptide_estimator *estimator, uint32_t slot);

/* Tells the policy at `now_ns` about this destination. */
void input_set(struct riptide_estimator *estimator, const struct destination *destination,
               uint64_t now_ns);

/* All that limits the window of one destination. */
struct limits {
    uint32_t min, max; /* of the configuration */
    uint32_t cap;      /* 0: none */
    double scale;      /* by hints; 1: none */
    uint32_t hint_max; /* 0: none */
};

struct limits limits_of(const struct riptide_estimator *estimator,
                        const struct riptide_prefix *dst);

/* The window, rounded to the nearest segment; *bit says what limited it (enum riptide_bound). */
uint16_t limits_apply(const struct limits *limits, double smoothed, uint32_t *bit);

/* Forgets the hints that have passed and bounds anew what they held down. */
void hints_expire(struct riptide_estimator *estimator, uint64_t now_ns);

/* rto_min in steps: from the delay that it must cover, and back. 0: none. */
uint8_t rto_step_of(const struct riptide_estimator_config *config, uint32_t delay_us);
uint32_t rto_step_us(uint8_t step);

#endif
