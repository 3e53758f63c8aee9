/* SPDX-License-Identifier: MIT */
/*
 * The data of an estimator, for the files of this folder: add.c (samples), estimator.c (rounds),
 * destination.c, bound.c (limits), hints.c, explain.c and state.c (text).
 */
#ifndef RIPTIDE_LIB_COMPUTE_ESTIMATOR_H
#define RIPTIDE_LIB_COMPUTE_ESTIMATOR_H

#include "internal.h"
#include "prefix_table.h"
#include "proof/arm.h"

#include <assert.h>
#include <riptide/compute.h>

#define NONE PREFIX_TABLE_NONE

/* An interval that leaves no room for this default is the wrong value, not the default. */
#define TTL_DEFAULT_NS (90 * NS_PER_S)

enum { NO_HISTORY = -1 };

/* Flags of a destination. */
enum {
    IS_TOUCHED = 1 << 0, /* has samples of the coming tick */
    IS_CHANGED = 1 << 1, /* waits to be popped */
    IS_NEWS = 1 << 2,    /* its rto_min, bounds or path MTU are not those popped last */
    IS_DROP = 1 << 3,    /* the drop guard discarded its history */
    IS_OFF = 1 << 4,     /* a hint disables its window */
    IS_IDLE = 1 << 5,    /* its last tick had no connection that counted */
};

/*
 * One destination: with a window; or windowless: its last tick with samples made no window and is
 * kept to be explained; or new. It is on up to two lists of slot numbers, `touched` and `changed`.
 * The members that a sample uses come first: with the memory of a simple policy they fill one cache
 * line; a second one would add half to the cost.
 */
struct destination {
    struct riptide_prefix dst;
    uint8_t flags;
    uint16_t cwnd;       /* 0: none */
    uint16_t pmtu_bytes; /* of a host's open connections, in the last tick with samples; 0: none */
    uint16_t n_counted;  /* samples of the coming tick; UINT16_MAX: that many or more */
    uint16_t popped_cwnd;
    uint16_t tick_pmtu_bytes; /* as pmtu_bytes, of the coming tick */
    uint32_t next_touched;
    uint64_t memory[RIPTIDE_POLICY_MEMORY_BYTES / 8]; /* the policy's */
    double smoothed;                                  /* NO_HISTORY: never computed, or expired */
    int64_t updated_ns; /* negative: restored, computed before this host booted */
    float combined;     /* NO_HISTORY: it is windowless */
    uint32_t next_changed;
    uint16_t samples;   /* of the tick of `combined` */
    uint16_t base_cwnd; /* window of the base route; 0: unknown */
    uint16_t n_left_out[RIPTIDE_LEFT_OUT_REASONS];
    uint16_t left_out[RIPTIDE_LEFT_OUT_REASONS]; /* of the tick of `combined` */
};
static_assert(sizeof(struct destination) <= 128, "two cache lines, the budget of a destination");

/* For the files of policies. */
#define ASSERT_MEMORY_FITS(type)                                                                   \
    static_assert(sizeof(type) <= RIPTIDE_POLICY_MEMORY_BYTES, "memory is over its budget")

/* The indices and the bound are of it and those that contain it, see hints_link. */
struct hint {
    struct riptide_hint hint; /* begins with its prefix */
    uint32_t around;          /* the longest other one that contains it, or NONE */
    uint32_t kept;            /* the longest without an end, or NONE */
    uint32_t off;             /* one with an end that is `off`, or NONE */
    uint32_t cap;             /* the lowest cwnd_max of those with an end; 0: none */
};

/* How many destinations there are within a /24, a /64, or a wider destination. */
struct share {
    struct riptide_prefix within;
    uint32_t n_destinations;
};

struct riptide_estimator {
    struct riptide_estimator_config config; /* without its hints */
    void *aggregates;                       /* the configuration's */
    const struct riptide_scope *scope;      /* the observer's; NULL: everything */
    bool is_by_host;                        /* every destination is one host */
    struct prefix_table table;
    struct prefix_table shares; /* of all destinations in the table */
    struct riptide_estimator_stats stats;
    struct riptide_policy_input input;
    uint64_t now_ns; /* of the last tick */
    bool gives_none;          /* connections start without windows at present, as in a pause */
    uint32_t holdout; /* share of them that also start without at other times: see arm_of */
    uint64_t arms_seed;
    uint32_t touched;
    uint32_t changed_head, changed_tail;
    uint32_t n_windows;
    int64_t oldest_ns;          /* no destination was computed before this time */
    bool has_made_room;         /* in the coming tick, by removing windowless ones */
    uint32_t hand;              /* where the next search for one that gives way begins */
    /*
     * Windows of destinations that gave way, to be withdrawn before others are popped: so there are
     * at most as many as destinations that were popped. NULL: none gave way so far.
     */
    struct riptide_prefix *withdrawn;
    uint32_t n_withdrawn;
    struct hint *hints;         /* the configuration's and the added ones: see hints.c */
    uint32_t n_hints;
    struct riptide_estimate popped;
};

static inline struct destination *destination_at(const struct riptide_estimator *estimator,
                                                 uint32_t slot)
{
    return prefix_table_at(&estimator->table, slot);
}

#define FOR_EACH_DESTINATION(estimator, slot)                                                      \
    for (uint32_t slot = prefix_table_next(&(estimator)->table, 0); (slot) != NONE;                \
         (slot) = prefix_table_next(&(estimator)->table, (slot) + 1))

/* The window with which its connections start, as it is popped; 0: none. */
static inline uint16_t given_cwnd(const struct destination *destination)
{
    return destination->flags & IS_OFF ? 0 : destination->cwnd;
}

/* Whether it must be popped. */
static inline bool has_news(const struct destination *destination)
{
    uint16_t cwnd = given_cwnd(destination);

    return cwnd != destination->popped_cwnd || (cwnd > 0 && destination->flags & IS_NEWS);
}

/* Time since it was computed. */
static inline uint64_t age_ns_of(const struct destination *destination, uint64_t now_ns)
{
    return now_ns - (uint64_t)destination->updated_ns;
}

/* Whether its last samples made no window and are kept to be explained. */
static inline bool is_windowless(const struct destination *destination)
{
    return destination->combined < 0;
}

static inline void estimator_freep(struct riptide_estimator **estimatorp)
{
    riptide_estimator_free(*estimatorp);
}

/* config.c */

/*
 * The caller's over the defaults, its arrays not copied. Hints are not checked. Errors: -EINVAL,
 * -E2BIG, each with a line that names the field.
 */
int estimator_config_check(struct riptide_estimator_config *checked,
                           const struct riptide_estimator_config *config,
                           struct riptide_error *error);

/* What a caller's policy lacks, as text; NULL: nothing. */
const char *policy_fault(const struct riptide_policy *policy);

/* In place of the index of a hint that is not in the configuration. */
#define ADDED SIZE_MAX

/*
 * Checks two bounds, of the i-th hint or of the configuration. If the lower one is a default, the
 * error names the upper one.
 */
int bounds_check(const char *min_field, const char *max_field, size_t i, bool has_min, uint32_t min,
                 uint32_t max, struct riptide_error *error);

/* estimator.c */

/* Fills in the policy's input for this destination at `now_ns`. */
const struct riptide_policy_input *input_of(struct riptide_estimator *estimator,
                                            const struct destination *destination, uint64_t now_ns);

/* destination.c */

/* The destination of this peer; and whether `dst` is a destination, and in scope. */
struct riptide_prefix destination_group(const struct riptide_estimator_config *config,
                                        const struct riptide_prefix *peer);
bool destination_is_ours(const struct riptide_estimator *estimator,
                         const struct riptide_prefix *dst);

/*
 * The slot of that destination, a new one if necessary; in a full table another one gives way, but
 * one with a window only for a sample that is evidence. NULL: there is no sample. Outcomes:
 * RIPTIDE_E_FULL. Errors: -ENOMEM.
 */
int destination_get(struct riptide_estimator *estimator, const struct riptide_prefix *dst,
                    const struct riptide_sample *sample, uint32_t *slotp);

/*
 * Removes a destination that has no window and whose last popped estimate had none; windowless ones
 * stay, to be explained.
 */
void remove_if_unknown(struct riptide_estimator *estimator, uint32_t slot);

/* Withdraws the window, to be popped, and discards the destination's data. */
void forget(struct riptide_estimator *estimator, uint32_t slot);

/* Empties the policy's memory beyond the tick. */
void forget_kept(const struct riptide_estimator *estimator, struct destination *destination);

/* Queues it to be popped if its estimate has changed. */
void mark_changed(struct riptide_estimator *estimator, uint32_t slot);

/* Its window was computed, or found missing, at that time. */
void set_window(struct riptide_estimator *estimator, struct destination *destination, uint16_t cwnd,
                int64_t updated_ns);

/* explain.c */

/* The slot of a destination, or of a peer's destination; or NONE. */
uint32_t find_slot(const struct riptide_estimator *estimator, const struct riptide_prefix *dst);

/* The policy's evidence for its window; other members are empty except `cwnd`. */
struct riptide_explanation evidence_of(const struct riptide_estimator *estimator,
                                       const struct destination *destination);

/* From that, the smallest round trip time of a peer's destination; 0: unknown. */
uint32_t estimator_min_rtt_us(const struct riptide_estimator *estimator,
                              const struct riptide_prefix *peer);

/* As it is popped. */
struct riptide_estimate destination_estimate(const struct riptide_estimator *estimator,
                                             const struct destination *destination);

/* bound.c */

/* All limits on the window of one destination, and the result. */
struct limits {
    const struct riptide_hint *kept; /* without an end, that decides; NULL: none */
    const struct riptide_hint *off;  /* that disables it; NULL: none */
    uint32_t cap;                    /* of hints with an end; 0: none */
    uint32_t min, max;
    bool is_cut;     /* losses lowered it, even below the base route's window */
    uint32_t most;   /* the upper bound in effect */
    uint32_t bounds; /* enum riptide_bound: the limits that changed the window */
    uint16_t cwnd;   /* rounded to the nearest segment */
};

struct limits limits_of(const struct riptide_estimator *estimator,
                        const struct destination *destination);

/* The window within its limits; notes whether a hint disables it. */
uint16_t bounded_cwnd(const struct riptide_estimator *estimator, struct destination *destination);

/* Bounds it anew after a change of hints. */
void bound_destination(struct riptide_estimator *estimator, uint32_t slot);

/*
 * Likewise, if it has a window; it is popped even if that stays, as the kernel's may be beyond the
 * new bound. The second function: all within that prefix.
 */
void bound_anew(struct riptide_estimator *estimator, uint32_t slot);
void bound_within(struct riptide_estimator *estimator, const struct riptide_prefix *dst);

/* Sets the base route's window of a destination (struct riptide_route); 0: unknown. */
void estimator_set_base(struct riptide_estimator *estimator, const struct riptide_prefix *dst,
                        uint32_t cwnd);

/* hints.c */

static inline bool hint_has_end(const struct riptide_hint *hint)
{
    return hint->until_ns != 0 && hint->until_ns != RIPTIDE_NEVER_NS;
}

/*
 * Checks a hint, the i-th of the configuration or ADDED, and stores it; call hints_link after the
 * last one. Outcomes: RIPTIDE_E_FULL. Errors: -EINVAL with a line that names the field, -ENOMEM.
 */
int hints_put(struct riptide_estimator *estimator, const struct riptide_hint *hint, size_t i,
              struct riptide_error *error);
void hints_link(struct riptide_estimator *estimator);

/* Sets `kept`, `off` and `cap` of a destination's limits. */
void hints_find(const struct riptide_estimator *estimator, const struct riptide_prefix *dst,
                struct limits *limits);

/* Removes hints whose end has passed, and bounds their destinations anew. */
void hints_expire(struct riptide_estimator *estimator, uint64_t now_ns);

/*
 * Its rto_min in eighths of an octave from 1 ms on, so that smaller changes do not rewrite a route;
 * at least the delay, at most RIPTIDE_RTO_MIN_LIMIT_US. 0: none.
 */
uint32_t rto_min_of(const struct riptide_estimator *estimator,
                    const struct destination *destination);

/* state.c */

/*
 * Writes a line at a time, so that a file need not be in memory as a whole. Each returns the bytes
 * written, at most STATE_LINE_BYTES; 0 for a destination without a window.
 */
enum { STATE_LINE_BYTES = 320 };
size_t state_put_head(char *at, uint64_t realtime_ns);
size_t state_put_line(char *at, const struct riptide_estimator *estimator, uint32_t slot,
                      uint64_t now_ns);


/* careful.c, bdp.c */

extern const struct riptide_policy policy_bdp, policy_careful;

#endif
