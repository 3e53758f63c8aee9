/* SPDX-License-Identifier: MIT */
/*
 * Destinations judged by their own connections, so that one whose path a window harms loses only
 * its own: for up to WATCHED destinations the sums of both arms, and when it stepped back, in 90
 * KB. docs/proof.md has the number of connections that this takes. Pure except for memory.
 */
#ifndef RIPTIDE_LIB_PROOF_WATCH_H
#define RIPTIDE_LIB_PROOF_WATCH_H

#include "../prefix_table.h"
#include "books.h"
#include "harm.h"

enum { WATCHED = 512 };

/*
 * Connections after which sums begin anew: otherwise a month of gains would hide new harm for about
 * another month.
 */
enum { RECENT = 20000 };

struct watched {
    struct riptide_prefix dst;
    uint32_t rank;        /* of its sums, among all that were ever judged; 0: not yet judged */
    uint32_t n_lately;    /* connections since room was last made */
    uint32_t n_wait;      /* rounds until closing connections count again */
    uint32_t path_rtt_us; /* the smallest, of all arms, by which connections count; 0: unknown */
    struct book_cell window, holdout; /* time relative to slow start's (book_doublings) */
    struct harm harm;
};

struct watch {
    struct prefix_table table;
    uint32_t n_ranks;
    uint32_t n_refused; /* connections whose destination found no room */
    uint32_t n_back;    /* destinations without a window at present */
    uint64_t n_harms;   /* times that one had harm */
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
 * Watches it if it is not; NULL: no room. After 16 * WATCHED connections without room, drops the
 * destinations that had less than an eighth of the mean meanwhile, and at least one, but none whose
 * next wait would be longer because of its harm.
 */
struct watched *watch_get(struct watch *watch, const struct riptide_prefix *dst, uint64_t now_ns);

/* Enters a connection that the books count, if it was held out or had the window. */
void watched_enter(struct watched *watched, enum arm arm, const struct riptide_sample *sample);

/* Call it for each one in each round: as harm_judge. *verdict is written with HARM_STEPS_BACK. */
enum harm_step watched_judge(struct watch *watch, struct watched *watched,
                             const struct harm_config *config, struct verdict *verdict,
                             uint64_t now_ns);

/* Its verdict when it was last judged. Outcomes: RIPTIDE_E_UNKNOWN. */
int watched_verdict(const struct watched *watched, struct verdict *verdict);

/*
 * After harm of the whole host was shown: the one destination that may explain it, as the others
 * together have shown none, and less than half as much by estimates. NULL: there is none.
 */
struct watched *watch_find_cause(const struct watch *watch, const struct harm_config *config);
void watched_step_back(struct watch *watch, struct watched *watched,
                       const struct harm_config *config, uint64_t now_ns);

/* Also ends its step back. */
void watch_forget(struct watch *watch, uint32_t slot);

/* Begins all sums anew. */
void watch_begin_anew(struct watch *watch);

static inline bool watched_is_back(const struct watched *watched)
{
    return watched && watched->harm.until_ns > 0;
}

#endif
