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
#include "proof/books.h"
#include "proof/ladder.h"

#include <assert.h>
#include <riptide/compute.h>

#define NONE PREFIX_TABLE_NONE

/* Who leaves it as it is and lengthens the interval is wrong about that. */
#define TTL_DEFAULT_NS (90 * NS_PER_S)

enum { NO_HISTORY = -1 };

/* Flags of a destination. */
enum {
    IS_TOUCHED = 1 << 0, /* has samples of the coming tick */
    IS_CHANGED = 1 << 1, /* waits to be popped */
    IS_NEWS = 1 << 2,    /* its rto_min, bounds or path MTU are not those popped last */
    IS_DROP = 1 << 3,    /* the drop guard had its history forgotten */
    IS_HELD_BACK = 1 << 4, /* its connections start without its window: see estimator_hold_back */
    IS_AT_ONCE = 1 << 5,   /* by its hint: nothing paces its flights */
};

/*
 * One destination: with a window, or windowless, whose last tick with samples made none and is
 * still there to be explained, or new. It is on up to two lists through slot numbers, `touched` and
 * `changed`. All that a sample touches comes first: with the memory of a simple policy that is one
 * cache line, and a second one would cost half as much again.
 */
struct destination {
    struct riptide_prefix dst;
    uint8_t flags;
    uint16_t cwnd;       /* 0: none */
    uint16_t pmtu_bytes; /* of a host, see pmtu_is_forgotten; 0: not known */
    uint16_t n_counted;  /* samples of the coming tick; UINT16_MAX: so many, or more */
    uint16_t popped_cwnd;
    uint32_t next_touched;
    const struct riptide_policy *policy;
    uint64_t memory[RIPTIDE_POLICY_MEMORY_BYTES / 8]; /* the policy's */
    double smoothed;                                  /* NO_HISTORY: never computed, or expired */
    int64_t updated_ns; /* negative: restored, computed before this host booted */
    float combined;     /* NO_HISTORY: it is windowless */
    uint32_t next_changed;
    uint16_t samples;   /* behind `combined` */
    uint16_t base_cwnd; /* what its connections start with without us; 0: unknown */
    uint16_t n_left_out[RIPTIDE_LEFT_OUT_REASONS];
    uint16_t left_out[RIPTIDE_LEFT_OUT_REASONS]; /* behind `combined` */
};
static_assert(sizeof(struct destination) <= 128, "two cache lines, the budget of a destination");

/* For a policy's file. */
#define ASSERT_MEMORY_FITS(type)                                                                   \
    static_assert(sizeof(type) <= RIPTIDE_POLICY_MEMORY_BYTES, "memory is over its budget")

/* What trials of a host have shown: its sums alone, so that those that come again count once. */
struct trials_host {
    uint64_t id;       /* of its states; 0: it saves none */
    uint64_t until_ns; /* then it is forgotten, as the windows of its state; this one never is */
    struct ladder *ladders; /* NULL: none */
};

/* With this one. Where there are more, what was merged last counts. Behind them, a site as one. */
enum { TRIALS_HOSTS = 16, TRIALS_SITE = TRIALS_HOSTS };

struct riptide_estimator {
    struct riptide_estimator_config config; /* without its hints */
    void *aggregates;                       /* the configuration's */
    const struct riptide_scope *scope;      /* the observer's; NULL: everything */
    bool is_by_host; /* every destination is one host */
    struct prefix_table table;
    struct riptide_estimator_stats stats;
    struct riptide_policy_input input;
    uint64_t now_ns; /* of the last tick */
    uint64_t first_tick_ns;
    bool gives_none;          /* connections start without our windows at present, as in a pause */
    struct arm_shares shares; /* which of them start without also while others do not: see arm_of */
    uint64_t arms_seed;
    double again_price; /* of ladder_enter */
    struct trials_host hosts[TRIALS_SITE + 1]; /* this one first */
    uint64_t site_fade_ns;  /* before its until_ns it counts less and less */
    uint32_t revision;      /* of this host's ladders */
    uint32_t n_ladders;                     /* slots that theirs are of */
    struct ladder_class classes[BOOK_RTTS];
    uint64_t n_steered; /* windows that trials have moved */
    uint32_t touched;
    uint32_t changed_head, changed_tail;
    uint32_t n_windows;
    int64_t oldest_ns;  /* no destination was computed before that */
    bool has_made_room; /* for the coming tick, by forgetting the windowless */
    struct riptide_hint *hints; /* the configuration's, and those that were added */
    size_t n_hints;
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

/* What its connections start with; 0: without us. */
static inline uint16_t given_cwnd(const struct destination *destination)
{
    return destination->flags & IS_HELD_BACK ? 0 : destination->cwnd;
}

/* How long ago it was computed. */
static inline uint64_t age_ns_of(const struct destination *destination, uint64_t now_ns)
{
    return now_ns - (uint64_t)destination->updated_ns;
}

/* Whether its last samples made no window and are there to be explained. */
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
 * The caller's over the defaults, its arrays not copied. What hints say is not checked. Errors:
 * -EINVAL, -E2BIG, each with a line that names the field.
 */
int estimator_config_check(struct riptide_estimator_config *checked,
                           const struct riptide_estimator_config *config,
                           struct riptide_error *error);

/* What a host's policy lacks, in words; NULL: nothing. */
const char *policy_fault(const struct riptide_policy *policy);

/* In the place of the index of a hint: it is none of the configuration's. */
#define ADDED SIZE_MAX

/* Two bounds, of the i-th hint or of all. Where the least is a default, it is not what is wrong. */
int bounds_check(const char *min_field, const char *max_field, size_t i, bool has_min, uint32_t min,
                 uint32_t max, struct riptide_error *error);

/* add.c */

/* Lets the path MTU of a destination go where it is time to see whether the path has grown. */
void forget_pmtu(struct riptide_estimator *estimator, uint32_t slot);

/* estimator.c */

/* Fills in the policy's input for this destination at `now_ns`. */
const struct riptide_policy_input *input_of(struct riptide_estimator *estimator,
                                            const struct destination *destination, uint64_t now_ns);

/* destination.c */

/* What counts as one destination with this peer, and whether `dst` is that, and in scope. */
struct riptide_prefix destination_group(const struct riptide_estimator_config *config,
                                        const struct riptide_prefix *peer);
bool destination_is_ours(const struct riptide_estimator *estimator,
                         const struct riptide_prefix *dst);

/*
 * The slot of that destination, a new one where there is none yet; if need be windowless ones that
 * have no samples of the coming tick make room. Outcomes: RIPTIDE_E_FULL. Errors: -ENOMEM.
 */
int destination_get(struct riptide_estimator *estimator, const struct riptide_prefix *dst,
                    uint32_t *slotp);

/*
 * Removes a destination without a window, where none is popped either; one that is windowless
 * stays, for explanations alone.
 */
void remove_if_unknown(struct riptide_estimator *estimator, uint32_t slot);

/* Takes the window away, to be popped, and all that is kept of it. */
void forget(struct riptide_estimator *estimator, uint32_t slot);

/* Gives it policy and pacing that hints say now; where it had another policy, that begins anew. */
void choose_policy(struct riptide_estimator *estimator, struct destination *destination);

/* Forgets all that the policy keeps from tick to tick; or restores it from the window. */
void forget_kept(struct destination *destination);
void restore_kept(struct riptide_estimator *estimator, struct destination *destination,
                  uint64_t now_ns);

/* Puts it in line to be popped if there is something to say. */
void mark_changed(struct riptide_estimator *estimator, uint32_t slot);

/* Its window, or that there is none, is of that time. */
void set_window(struct riptide_estimator *estimator, struct destination *destination,
                uint16_t cwnd, int64_t updated_ns);

/*
 * Whether connections of the destination start without its window, as held out ones; `is_news`:
 * whether they are given one has changed, and it is to be popped.
 */
void estimator_hold_back(struct riptide_estimator *estimator, const struct riptide_prefix *dst,
                         bool is_held_back, bool is_news);

/* trials.c */

/* Of the destination, where trials move its window; or NULL. */
struct ladder *ladder_at(const struct riptide_estimator *estimator, uint32_t slot);
struct ladder *ladder_of(const struct riptide_estimator *estimator,
                         const struct destination *destination);

/* Each slot in use has one from here on. Errors: -ENOMEM. */
int ladders_reserve(struct riptide_estimator *estimator);

/* The slot is another destination's. */
void ladders_forget(struct riptide_estimator *estimator, uint32_t slot);

/* Another host, of which nothing is known, whatever was; NULL: no memory. */
struct trials_host *trials_host_begin(struct riptide_estimator *estimator, uint64_t id,
                                      uint64_t until_ns);

/* Behind a policy's step, of samples of this round. Returns whether trials have moved the window. */
bool ladder_steer(struct riptide_estimator *estimator, uint32_t slot);

/* One that has closed and counts (book_judge, KERNEL_CWND), of this arm of the window `cwnd`. */
void estimator_enter(struct riptide_estimator *estimator, const struct riptide_sample *sample,
                     enum arm arm, uint32_t cwnd);

/* explain.c */

/* The slot of a destination, or of what a peer is counted as; or NONE. */
uint32_t find_slot(const struct riptide_estimator *estimator, const struct riptide_prefix *dst);

/* The policy's evidence for its window, all else but `cwnd` empty. */
struct riptide_explanation evidence_of(const struct destination *destination);

/* By that, the smallest round trip time of what a peer is counted as; 0: not known. */
uint32_t estimator_min_rtt_us(const struct riptide_estimator *estimator,
                              const struct riptide_prefix *peer);

/* As it is popped. */
struct riptide_estimate destination_estimate(const struct riptide_estimator *estimator,
                                             const struct destination *destination);

/* bound.c */

/* All that limits the window of one destination, and what comes of it. */
struct limits {
    const struct riptide_hint *kept; /* without an end; NULL: none */
    uint32_t min, max;
    bool is_cut;       /* losses took it down, even below what connections start with without us */
    double scale;      /* by hints that end; 1: none */
    uint32_t hint_max; /* likewise; 0: none */
    uint32_t most;     /* the upper bound in effect */
    uint32_t bounds;   /* enum riptide_bound: what limited the window, */
    uint16_t cwnd;     /* rounded to the nearest segment */
};

/* To the nearest; a policy's may be negative: there is none. */
uint32_t to_segments(double cwnd);

struct limits limits_of(const struct riptide_estimator *estimator,
                        const struct destination *destination);

/* Bounds it anew where hints or the configuration have changed: tells the policy of a raise. */
void rebound_destination(struct riptide_estimator *estimator, uint32_t slot);

/* What connections to a destination start with without us, by struct riptide_route; 0: unknown. */
void estimator_set_base(struct riptide_estimator *estimator, const struct riptide_prefix *dst,
                        uint32_t cwnd);

static inline bool hint_has_end(const struct riptide_hint *hint)
{
    return hint->until_ns != 0 && hint->until_ns != RIPTIDE_NEVER_NS;
}

/*
 * Checks a hint, the i-th of the configuration or ADDED, and puts it into the table. Outcomes:
 * RIPTIDE_E_FULL. Errors: -EINVAL with a line that names the field, -ENOMEM.
 */
int hint_add(struct riptide_estimator *estimator, const struct riptide_hint *hint, size_t i,
             struct riptide_error *error);

/* Forgets the hints that have passed and bounds anew what they held down. */
void hints_expire(struct riptide_estimator *estimator, uint64_t now_ns);

/*
 * Its rto_min in eighths of an octave from 1 ms on, so that a route is not rewritten for less;
 * never below the delay, but for RIPTIDE_RTO_MIN_LIMIT_US. 0: none.
 */
uint32_t rto_min_of(const struct riptide_estimator *estimator,
                    const struct destination *destination);

/* state.c */

/*
 * A line at a time, so that a file of it need not be in memory as a whole. Each returns how many
 * bytes it has written, STATE_LINE_BYTES at most, and LADDER_BYTES where there are ladders; of a
 * destination without a window that is 0.
 */
enum { STATE_LINE_BYTES = 320 + 2 * RIPTIDE_POLICY_MEMORY_BYTES };
size_t state_put_head(char *at, const struct riptide_estimator *estimator, uint64_t realtime_ns);
size_t state_put_line(char *at, const struct riptide_estimator *estimator, uint32_t slot,
                      uint64_t now_ns);

/* Of the host whose state that is; 0: it does not say. */
uint64_t state_host(const char *text, size_t size);

/* reconfigure.c */

/*
 * Goes on with another configuration as if it had been the first: destinations keep window, history
 * and age, and what their policies know where that is the same one. Hints that end stay, and so do
 * counters. Windows that the new bounds move wait to be popped; so do, as withdrawn, destinations
 * that are none under the new prefix lengths and aggregates, that are more than max_destinations,
 * and that lie outside the prefixes of `scope` (NULL: everything; not copied). Samples of the
 * coming tick are forgotten. Errors: as riptide_estimator_new, -EINVAL also where hints that end make hints more
 * than RIPTIDE_MAX_HINTS; nothing has changed then.
 */
int estimator_reconfigure(struct riptide_estimator *estimator,
                          const struct riptide_estimator_config *config,
                          const struct riptide_scope *scope, struct riptide_error *error);

/* careful.c, bdp.c */

extern const struct riptide_policy policy_bdp, policy_careful;

#endif
