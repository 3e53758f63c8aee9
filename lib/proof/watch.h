/* SPDX-License-Identifier: MIT */
/*
 * Destinations that are judged each by its own connections, so that one whose path a window harms
 * loses it alone: for each of up to WATCHED the sums of both arms and when it has stepped back, in
 * 90 KB. docs/proof.md has how many connections that takes. Pure but for memory.
 */
#ifndef RIPTIDE_LIB_PROOF_WATCH_H
#define RIPTIDE_LIB_PROOF_WATCH_H

#include "../prefix_table.h"
#include "books.h"
#include "harm.h"

enum { WATCHED = 512 };

/*
 * Connections after which sums begin anew: what a month of gains has in them outweighs harm that
 * begins today, for about another month.
 */
enum { RECENT = 20000 };

struct watched {
    struct riptide_prefix dst;
    uint32_t rank; /* of its sums, among all that were ever judged; 0: not judged yet */
    uint32_t n_lately; /* connections since room was made last */
    uint32_t n_wait;   /* rounds until what ends counts again */
    uint32_t path_rtt_us; /* the smallest, of all arms: by which connections count; 0: not known */
    struct book_cell window, holdout; /* time over slow start's (book_doublings) */
    struct harm harm;
};

struct watch {
    struct prefix_table table;
    uint32_t n_ranks;
    uint32_t n_refused; /* connections for whose destination there was no room */
    uint32_t n_back;  /* destinations that have no window at present */
    uint64_t n_harms; /* times that one did harm */
};

void watch_init(struct watch *watch, uint64_t hash_seed);
void watch_deinit(struct watch *watch);

static inline struct watched *watched_at(const struct watch *watch, uint32_t slot)
{
    return prefix_table_at(&watch->table, slot);
}

#define FOR_EACH_WATCHED(watch, slot)                                                              \
    for (uint32_t slot = prefix_table_next(&(watch)->table, 0); (slot) != PREFIX_TABLE_NONE;       \
         (slot) = prefix_table_next(&(watch)->table, (slot) + 1))

/* NULL: it is not watched. */
struct watched *watch_find(const struct watch *watch, const struct riptide_prefix *dst);

/*
 * Also where it was not watched yet; NULL: there is no room. Where 16 * WATCHED have found
 * no room for their destination those go that had less than an eighth of the mean meanwhile, and one
 * at least, but for those whose next wait would be longer for what they did.
 */
struct watched *watch_get(struct watch *watch, const struct riptide_prefix *dst, uint64_t now_ns);

/* One that books have entered, if it was held out or had the window. */
void watched_enter(struct watched *watched, enum arm arm, const struct riptide_sample *sample);

/*
 * To be asked of each in each round: as harm_judge. *verdict is written where the answer is
 * HARM_STEPS_BACK.
 */
enum harm_step watched_judge(struct watch *watch, struct watched *watched,
                             const struct harm_config *config, struct verdict *verdict,
                             uint64_t now_ns);

/* By what it was judged last. Outcomes: RIPTIDE_E_UNKNOWN. */
int watched_verdict(const struct watched *watched, struct verdict *verdict);

/*
 * Harm of the whole host is shown: the one destination whose own may be all of it, as the others
 * together have not shown any, and by estimates less than half as much. NULL: there is none.
 */
struct watched *watch_find_cause(const struct watch *watch, const struct harm_config *config);
void watched_step_back(struct watch *watch, struct watched *watched,
                       const struct harm_config *config, uint64_t now_ns);

/* With its window, where that was withdrawn. */
void watch_forget(struct watch *watch, uint32_t slot);

/* All sums begin anew. */
void watch_begin_anew(struct watch *watch);

static inline bool watched_is_back(const struct watched *watched)
{
    return watched && watched->harm.until_ns > 0;
}

#endif
