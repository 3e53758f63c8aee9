/* SPDX-License-Identifier: MIT */
/*
 * Turns: where only routes give windows, no single connection can be held out, but a whole
 * destination can, for a turn. Turns of destinations are drawn, so a turn counts once in the books,
 * as the mean of its connections. Only connections that opened in the middle of the turn count: at
 * both ends a guard time of a tenth lets routes take effect, and connections end. Pure.
 */
#ifndef RIPTIDE_LIB_PROOF_TURNS_H
#define RIPTIDE_LIB_PROOF_TURNS_H

#include "../prefix.h"
#include "arm.h"
#include "books.h"

/* Three rounds: the first changes windows; the others show connections opened before. */
enum { TURN_GUARDS = 10, TURN_GUARD_ROUNDS = 3 };

enum turn_phase {
    TURN_VOID,   /* no connection counts until the next turn */
    TURN_BEGINS, /* guard time: new connections may have the window of the last turn */
    TURN_COUNTS,
    TURN_ENDS, /* guard time: new connections may close too late; older ones count */
};

struct turns {
    uint64_t number; /* from 1 on; 0: none yet */
    enum turn_phase phase;
    uint32_t n_rounds; /* of the phase TURN_BEGINS, each with a complete dump */
};

enum turn_step {
    TURN_STAYS,
    TURN_NEW,   /* a new draw; `was_whole`: the results of the last turn are valid */
    TURN_OPENS, /* connections open until now do not count */
    TURN_CLOSES /* connections open now may count, later ones not */
};

/* A round begins. If it does not come in each phase in time, the turn is void. */
static inline enum turn_step turns_round(struct turns *turns, uint64_t length_ns, uint64_t now_ns,
                                         bool *was_wholep)
{
    uint64_t number = now_ns / length_ns + 1, at_ns = now_ns % length_ns;
    uint64_t guard_ns = length_ns / TURN_GUARDS;
    enum turn_phase phase = at_ns < guard_ns               ? TURN_BEGINS
                            : at_ns < length_ns - guard_ns ? TURN_COUNTS
                                                           : TURN_ENDS;
    bool may_open = turns->n_rounds >= TURN_GUARD_ROUNDS;

    if (number != turns->number) {
        *was_wholep = turns->phase == TURN_ENDS && number == turns->number + 1;
        *turns = (struct turns){ number, phase == TURN_BEGINS ? TURN_BEGINS : TURN_VOID, 1 };
        return TURN_NEW;
    }
    turns->n_rounds += phase == TURN_BEGINS;
    if (turns->phase == TURN_VOID || phase == turns->phase)
        return TURN_STAYS;
    turns->phase = phase == turns->phase + 1 && may_open ? phase : TURN_VOID;
    if (turns->phase == TURN_VOID)
        return TURN_STAYS;
    return phase == TURN_COUNTS ? TURN_OPENS : TURN_CLOSES;
}

/* From prefix, turn and seed only, like arm_of. */
static inline enum arm arm_of_turn(const struct riptide_prefix *dst, uint64_t turn, uint64_t seed,
                                   uint32_t holdout)
{
    const uint64_t odd = UINT64_C(0xbf58476d1ce4e5b9);
    uint64_t words[3] = { turn }, id = (uint64_t)dst->family << 8 | dst->len;

    memcpy(&words[1], dst->addr, sizeof(dst->addr));
    for (int i = 0; i < 3; i++) {
        id = (id ^ words[i]) * odd;
        id ^= id >> 32;
    }
    return arm_of(id, seed, holdout);
}

/* A destination's turn as a line for the books: means of its sums, of one connection or more. */
static inline struct book_line turn_line(unsigned int class, const struct book_cell *sums)
{
    uint64_t time = (sums->time_sum + sums->n / 2) / sums->n;
    uint64_t again = (sums->again_sum + sums->n / 2) / sums->n;

    return (struct book_line){ class,
                               { 1, sums->n_again > 0, time, time * time, again, again * again } };
}

#endif
