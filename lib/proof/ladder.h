/* SPDX-License-Identifier: MIT */
/*
 * The window that trials have shown to be the best for a destination: a search over a ladder of
 * windows, each the square root of two times the one below. Connections of the two trials (arm.h)
 * start a rung beside the others, by lot; where one side does better the window moves there.
 *
 * Rungs are windows, and not multiples of the policy's: what was seen of one stays true when the
 * policy's moves, and sums of several hosts can be added. docs/proof.md has the method. Pure.
 */
#ifndef RIPTIDE_LIB_PROOF_LADDER_H
#define RIPTIDE_LIB_PROOF_LADDER_H

#include "arm.h"

#include <riptide/observe.h>

/* From KERNEL_CWND on; each is what arm_cwnd makes of the ones beside it. */
enum { LADDER_RUNGS = 13 };
extern const uint16_t ladder_cwnds[LADDER_RUNGS];

/* So many rungs about the policy's window, which is what first flights have proven. */
enum { LADDER_BELOW = 4, LADDER_ABOVE = 2 };

/* Sums over connections that started there; with each that comes all before count a bit less. */
struct ladder_rung {
    float n;
    float cost;
    float again; /* segments sent again by all segments, 0 to 1 each */
};

/* All zero: nothing is known. */
struct ladder {
    struct ladder_rung rungs[LADDER_RUNGS];
    float squares;     /* of costs, on all rungs */
    uint8_t at;        /* 1 + the rung that the window is on; 0: there was no step yet */
    uint8_t policy_at; /* likewise the policy's window, at the last step */
    uint8_t n_settle;  /* steps in which connections end that may have begun on another rung */
    bool is_led;       /* it began where others of its class or site are, and does not follow the policy */
    uint32_t revision; /* of all ladders of a host, when this one changed last */
    uint32_t n_entered : 24, n_halved : 8; /* connections, and cuts of the policy, since it began */
};

/* Where the destinations of a class are, such as those of a group of round trip times. */
struct ladder_class {
    float n, rung;
};

/*
 * A connection that has closed, counts (book_judge) and had more data than KERNEL_CWND segments, so
 * that this does not depend on the window. Its cost is the natural logarithm of busy time in
 * smallest round trip times over the round trips that slow start from KERNEL_CWND takes for as many
 * bytes, so that sizes compare; and the share that it sent again, a point of
 * which is worth `again_price` per cent of time.
 */
void ladder_enter(struct ladder *ladder, uint32_t cwnd, const struct riptide_sample *sample,
                  double again_price);

/*
 * Once a round: moves by a rung where one beside it is better, by the sums of `others` as well.
 * `policy_cwnd` is the policy's window, the others the smallest and the largest that may be. `site`
 * is of hosts that are not trusted as `others` are: it moves a window down, where these do not speak
 * against that, and none up. `others`, `site` and `class` may be NULL. Returns whether the window has moved other than the policy's has.
 */
bool ladder_step(struct ladder *ladder, const struct ladder *others, const struct ladder *site,
                 struct ladder_class *class, uint32_t policy_cwnd, uint32_t least_cwnd,
                 uint32_t most_cwnd);

/* What connections are to start with. */
uint32_t ladder_cwnd(const struct ladder *ladder, uint32_t policy_cwnd);

/* What is known of a rung; n is 0: nothing. */
struct ladder_row {
    double n;
    double time, error; /* relative to the rung that the window is on: -0.2, a fifth less */
    double again;       /* 0.01: one of 100 segments */
};
struct ladder_row ladder_row_of(const struct ladder *ladder, unsigned int rung,
                                double again_price);

/* The sums of another host as well; where the window is stays. */
void ladder_add(struct ladder *ladder, const struct ladder *other);

/* All sums; and so that no rung has more connections than `weight`, above 0. */
void ladder_scale(struct ladder *ladder, double factor);
void ladder_limit(struct ladder *ladder, double weight);

/* As text without a blank, and back: false where no ladder can have such sums. */
enum { LADDER_BYTES = 640 };
size_t ladder_save(const struct ladder *ladder, char text[LADDER_BYTES]);
bool ladder_load(struct ladder *ladder, const char *text);

#endif
