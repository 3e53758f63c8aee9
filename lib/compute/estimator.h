/* SPDX-License-Identifier: MIT */
/*
 * What an estimator is made of, for the files of this folder: add.c (samples), estimator.c
 * (rounds), destination.c, bound.c (limits and hints), explain.c (answers), state.c (text) and
 * reconfigure.c.
 */
#ifndef RIPTIDE_LIB_COMPUTE_ESTIMATOR_H
#define RIPTIDE_LIB_COMPUTE_ESTIMATOR_H

#include "internal.h"
#include "prefix_table.h"

#include <assert.h>
#include <riptide/compute.h>

#define NONE PREFIX_TABLE_NONE

enum { NO_HISTORY = -1 };

/* Flags of a destination. */
enum {
    IS_TOUCHED = 1 << 0, /* has samples of the coming tick */
    IS_CHANGED = 1 << 1, /* waits to be popped */
    IS_NEWS = 1 << 2,    /* its rto_min, bounds or path MTU are not those popped last */
    IS_DROP = 1 << 3,    /* the drop guard had its history forgotten */
    METHOD_SHIFT = 4,    /* above them: the number of its method */
};

/* What a policy may keep for a destination without going over the budget. */
enum { MEMORY_BYTES = 48 };

/*
 * One destination. It is on up to three lists through slot numbers: `touched`, `changed`, and one
 * of two by age, oldest first, so that expiry looks at none that stay: `windows`, those that have
 * one, or `windowless`, those without whose last tick with samples is still there to be explained.
 * What a sample touches comes first: with the memory of a simple policy that is one cache line.
 */
struct destination {
    struct riptide_prefix dst;
    uint8_t flags;
    uint8_t rto_step; /* of rto_min, see bound.c; 0: none */
    uint16_t cwnd;    /* 0: none */
    uint16_t popped_cwnd;
    uint32_t next_touched;
    uint32_t n_counted;                /* samples of the coming tick */
    uint64_t memory[MEMORY_BYTES / 8]; /* the policy's; see memory_of */
    double smoothed;                   /* NO_HISTORY: never computed, or expired */
    int64_t updated_ns;                /* negative: restored, computed before this host booted */
    float combined;                    /* NO_HISTORY: it is among the windowless */
    uint16_t samples;    /* behind `combined`; UINT16_MAX: so many, or more */
    uint16_t pmtu_bytes; /* of a host, see pmtu_is_forgotten; 0: not known */
    uint32_t next_changed;
    uint32_t newer; /* on its list by age */
    uint32_t older;
    uint16_t n_left_out[RIPTIDE_LEFT_OUT_REASONS];
    uint16_t left_out[RIPTIDE_LEFT_OUT_REASONS]; /* behind `combined` */
};
static_assert(sizeof(struct destination) <= 128, "the budget of a destination");

/* For a policy's file. */
#define ASSERT_MEMORY_FITS(type)                                                                   \
    static_assert(sizeof(type) <= MEMORY_BYTES, "memory of a policy is over its budget")

/* What connections to it start with without us. Few hosts are tuned: it has no place above. */
struct base_cwnd {
    struct riptide_prefix dst;
    uint16_t cwnd; /* segments */
};

/* How the windows of some destinations are computed. */
struct method {
    const struct riptide_policy *policy;
    enum riptide_left_out (*add)(const struct riptide_policy_input *input, void *memory,
                                 const struct riptide_sample *sample); /* the policy's */
    size_t memory_offset;                                              /* into a destination */
};

enum { MAX_METHODS = 1 + RIPTIDE_MAX_HINT_POLICIES };
static_assert(MAX_METHODS <= 1 << (8 - METHOD_SHIFT), "the number of a method fits in the flags");

struct age_list {
    uint32_t oldest, newest;
    uint32_t n;
};

struct riptide_estimator {
    struct riptide_estimator_config config;
    struct method methods[MAX_METHODS]; /* the configuration's, then those of hints */
    size_t n_methods;
    bool is_by_host; /* every destination is one host */
    struct prefix_table table;
    struct prefix_table bases; /* struct base_cwnd: of hosts that are tuned, empty on all others */
    struct riptide_estimator_stats stats;
    struct riptide_policy_input input;
    uint64_t now_ns; /* of the last tick */
    uint64_t first_tick_ns;
    uint32_t touched;
    uint32_t changed_head, changed_tail;
    struct age_list windows, windowless;
    struct riptide_hint *hints; /* the configuration's, and those that were added */
    size_t n_hints;
    uint64_t next_hint_ns; /* when the first of them passes */
    struct riptide_estimate popped;
};

static inline struct destination *destination_at(const struct riptide_estimator *estimator,
                                                 uint32_t slot)
{
    return prefix_table_at(&estimator->table, slot);
}

static inline const struct method *method_of(const struct riptide_estimator *estimator,
                                             const struct destination *destination)
{
    return &estimator->methods[destination->flags >> METHOD_SHIFT];
}

/* The policy's memory: in its place, or behind the destination where it is more than fits. */
static inline void *memory_of(const struct riptide_estimator *estimator,
                              const struct destination *destination)
{
    return (unsigned char *)destination + method_of(estimator, destination)->memory_offset;
}

/* Forgets all that the policy keeps from tick to tick. */
void forget_kept(const struct riptide_estimator *estimator, struct destination *destination);

/* Replaces that by what its window stands for, as if it had been computed. */
void restore_kept(struct riptide_estimator *estimator, struct destination *destination,
                  uint64_t now_ns);

/*
 * Whether that policy is among the methods, to which it is added where there is a place, and room
 * for its memory.
 */
bool has_method(struct riptide_estimator *estimator, const struct riptide_policy *policy);

/* Gives a destination the method that hints say now; where it had another, it begins anew. */
void choose_method(struct riptide_estimator *estimator, struct destination *destination);

/*
 * The slot of that destination, a new one where there is none yet, if need be in the place of a
 * windowless one that has no samples of the coming tick. Outcomes: RIPTIDE_E_FULL. Errors: -ENOMEM.
 */
int destination_get(struct riptide_estimator *estimator, const struct riptide_prefix *dst,
                    uint32_t *slotp);

/*
 * Removes a destination without a window, where none is popped either; one that is windowless stays,
 * for explanations alone.
 */
void remove_if_unknown(struct riptide_estimator *estimator, uint32_t slot);

/* Bounds it anew. */
void bound_destination(struct riptide_estimator *estimator, uint32_t slot);

/* The same where hints or the configuration have changed: a raise is reported to the policy. */
void rebound_destination(struct riptide_estimator *estimator, uint32_t slot);

/* Whether `dst` is what counts as one destination. */
bool destination_is_group(const struct riptide_estimator_config *config,
                          const struct riptide_prefix *dst);

/* What counts as one destination with this peer. */
struct riptide_prefix destination_group(const struct riptide_estimator_config *config,
                                        const struct riptide_prefix *peer);

/*
 * Whether no path MTU is taken for that destination now, and what was is let go. A connection that
 * has learned a small one goes on showing it, and so does one that opens on a route which says it;
 * to see whether the path has grown, each destination is without for a minute of ten, as the kernel
 * tries again after ten (net.ipv4.route.mtu_expires): one after the other, and none in the first
 * minute of all. What counts is what has sent not long ago, so within that minute: a connection has
 * the MTU of its route from when it sends.
 */
enum {
    PMTU_PERIOD_S = 600,
    PMTU_FORGOTTEN_S = 60,
    PMTU_RECENT_MS = 30 * 1000,
};
static inline bool pmtu_is_forgotten(const struct riptide_estimator *estimator, uint32_t slot)
{
    uint64_t phase_s = (estimator->now_ns - estimator->first_tick_ns) / NS_PER_S +
                       slot % (PMTU_PERIOD_S - 2 * PMTU_FORGOTTEN_S);

    return phase_s % PMTU_PERIOD_S >= PMTU_PERIOD_S - PMTU_FORGOTTEN_S;
}

/* How many samples there are behind a window, as it is kept. */
static inline uint16_t samples_kept(uint32_t n)
{
    return n < UINT16_MAX ? (uint16_t)n : UINT16_MAX;
}

/* When it was computed: 0 where that was before boot. */
uint64_t destination_updated_ns(const struct destination *destination);

/* How long ago it was computed. */
uint64_t destination_age_ns(const struct destination *destination, uint64_t now_ns);

/* When its window passes; RIPTIDE_NEVER_NS where that is beyond all time. */
uint64_t destination_expires_ns(const struct riptide_estimator *estimator,
                                const struct destination *destination);

/* As it is popped. */
struct riptide_estimate destination_estimate(const struct riptide_estimator *estimator,
                                             const struct destination *destination);

/*
 * Takes it off the list that it is on, or puts it on that of windows by its updated_ns, which is
 * looked for from `near` on, another one there; NONE: from the newest.
 */
void age_list_remove(struct riptide_estimator *estimator, struct age_list *list,
                     struct destination *destination);
void age_list_insert(struct riptide_estimator *estimator, uint32_t near, uint32_t slot);

/* Whether its last samples made no window and are there to be explained. */
static inline bool is_windowless(const struct destination *destination)
{
    return destination->combined < 0;
}

/* Keeps what its samples of the tick were, of which no window came. */
void windowless_keep(struct riptide_estimator *estimator, uint32_t slot, uint64_t now_ns);

/* It has samples of the coming tick: it is the last to make room. */
void windowless_renew(struct riptide_estimator *estimator, uint32_t slot);

/* Forgets that again, if it was kept; or the destination as well, unless it is known otherwise. */
void windowless_drop(struct riptide_estimator *estimator, struct destination *destination);
void windowless_forget(struct riptide_estimator *estimator, uint32_t slot);

/* Takes the window away, to be popped, and all that is kept of it. */
void forget_window(struct riptide_estimator *estimator, uint32_t slot);

/* Puts it in line to be popped if there is something to say. */
void mark_changed(struct riptide_estimator *estimator, uint32_t slot);

/* Fills in the policy's input for this destination at `now_ns`. */
const struct riptide_policy_input *input_of(struct riptide_estimator *estimator,
                                            const struct destination *destination,
                                            uint64_t now_ns);

/* All that limits the window of one destination. */
struct limits {
    const struct riptide_hint *kept; /* without an end; NULL: none */
    uint32_t min, max;
    uint32_t base; /* what its connections start with without us; 0: unknown */
    bool is_cut;   /* losses took it down, even below that */
    double scale;  /* by hints that end; 1: none */
    uint32_t hint_max; /* 0: none */
};

struct limits limits_of(const struct riptide_estimator *estimator,
                        const struct destination *destination);

/* The upper bound in effect, hints included, segments. */
uint32_t limits_max(const struct limits *limits);

/* What connections to a destination start with without us, by struct riptide_route; 0: unknown. */
void estimator_set_base(struct riptide_estimator *estimator, const struct riptide_prefix *dst,
                        uint32_t cwnd);
uint32_t estimator_base(const struct riptide_estimator *estimator,
                        const struct riptide_prefix *dst);
void estimator_forget_base(struct riptide_estimator *estimator, const struct riptide_prefix *dst);

/* The window, rounded to the nearest segment; *bit says what limited it (enum riptide_bound). */
uint16_t limits_apply(const struct limits *limits, double smoothed, uint32_t *bit);

/* Puts one that is right into the table. Outcomes: RIPTIDE_E_FULL. Errors: -ENOMEM. */
int hint_put(struct riptide_estimator *estimator, const struct riptide_hint *hint);

/* Forgets the hints that have passed and bounds anew what they held down. */
void hints_expire(struct riptide_estimator *estimator, uint64_t now_ns);

/*
 * Loads lines of a state that was saved `passed_ns` ago, but what lies outside `scope` (NULL: all
 * of them); `counts` may be NULL. Errors: -ENOMEM.
 */
int state_load_lines(struct riptide_estimator *estimator, const struct riptide_scope *scope,
                     uint64_t now_ns, uint64_t passed_ns, const char *lines, const char *end,
                     struct riptide_load_counts *counts);

/*
 * Goes on with another configuration as if it had been the first: destinations keep window, history
 * and age, and what their policies know where that is the same one. Hints and counters stay.
 * Windows that the new bounds move wait to be popped; so do, as withdrawn, destinations that are
 * none under the new prefix lengths and aggregates, that are more than max_destinations, and that
 * lie outside the prefixes of `scope` (NULL: everything). Samples of the coming tick are forgotten.
 * Errors: as riptide_estimator_new; nothing has changed then.
 */
int estimator_reconfigure(struct riptide_estimator *estimator,
                          const struct riptide_estimator_config *config,
                          const struct riptide_scope *scope, struct riptide_error *error);

/* Takes its rto_min from what the policy knows now. */
void rto_update(struct riptide_estimator *estimator, struct destination *destination);

/* rto_min in steps: from the delay that it must cover, and back. 0: none. */
uint8_t rto_step_of(const struct riptide_estimator_config *config, uint32_t delay_us);
uint32_t rto_step_us(uint8_t step);

#endif
