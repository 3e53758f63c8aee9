/* SPDX-License-Identifier: MIT */
/*
 * The best window for a destination by trials: a search over a ladder of windows, each the square
 * root of two times the one below. Connections of the two trials (arm.h) start on a neighbouring
 * rung, at random; if one of these does better the window moves there.
 *
 * Rungs are windows, not multiples of the policy's: results of one stay valid when the policy's
 * window changes, and sums of several hosts can be added. docs/proof.md has the method. Pure.
 */
#ifndef RIPTIDE_LIB_PROOF_LADDER_H
#define RIPTIDE_LIB_PROOF_LADDER_H

#include "arm.h"

#include <riptide/observe.h>

/* From KERNEL_CWND on; neighbours are what arm_cwnd computes. */
enum { LADDER_RUNGS = 13 };
extern const uint16_t ladder_cwnds[LADDER_RUNGS];

/* Rungs around the policy's window, which first flights have proven. */
enum { LADDER_BELOW = 4, LADDER_ABOVE = 2 };

/* Sums over connections that started there; each new one lowers the weight of earlier ones. */
struct ladder_rung {
    float n;
    float cost;
    float again; /* retransmitted segments by all segments, 0 to 1 each */
};

/* All zero: no results. */
struct ladder {
    struct ladder_rung rungs[LADDER_RUNGS];
    float squares;     /* of costs, on all rungs */
    uint8_t at;        /* 1 + the rung of the window; 0: before the first step */
    uint8_t policy_at; /* likewise for the policy's window, at the last step */
    uint8_t n_settle;  /* rounds in which connections may end that began on another rung */
    bool is_led;       /* it began at the rung of its class or site, and does not follow the policy
                        */
    uint32_t round;    /* the last that n_settle counts */
    uint32_t revision; /* sequence number of the last change, over all ladders of a host */
    uint32_t n_entered : 24, n_halved : 8; /* connections, and cuts of the policy, since it began */
};

/* The rungs of the destinations of a class, such as a group of round trip times. */
struct ladder_class {
    float n, rung;
};

/*
 * Enters a closed connection that counts (book_judge) and had more data than KERNEL_CWND segments,
 * so that the choice does not depend on the window. Its cost is the natural logarithm of busy time
 * in smallest round trip times, divided by the round trips of slow start from KERNEL_CWND for as
 * many bytes, so that sizes compare; plus the share that it retransmitted, a point of which costs
 * `again_price` percent of time.
 */
void ladder_enter(struct ladder *ladder, uint32_t cwnd, const struct riptide_sample *sample,
                  double again_price);

/*
 * Once a round: moves by a rung if a neighbour is better, also by the sums of `others`.
 * `policy_cwnd` is the policy's window, the others the smallest and the largest allowed. `site` is
 * from hosts that are less trusted than `others`: it can only move a window down, if the other sums
 * do not contradict. `others`, `site` and `class` may be NULL. Returns whether the window has moved
 * independently of the policy's.
 */
bool ladder_step(struct ladder *ladder, const struct ladder *others, const struct ladder *site,
                 struct ladder_class *class, uint32_t policy_cwnd, uint32_t least_cwnd,
                 uint32_t most_cwnd);

/* The window for new connections. */
uint32_t ladder_cwnd(const struct ladder *ladder, uint32_t policy_cwnd);

/* Results of a rung; n is 0: none. */
struct ladder_row {
    double n;
    double time, error; /* relative to the rung of the window: -0.2, a fifth less */
    double again;       /* 0.01: one of 100 segments */
};
struct ladder_row ladder_row_of(const struct ladder *ladder, unsigned int rung, double again_price);

/* Adds the sums of another host; the window stays. */
void ladder_add(struct ladder *ladder, const struct ladder *other);

/* Multiplies all sums; and limits the connections of each rung to `weight`, above 0. */
void ladder_scale(struct ladder *ladder, double factor);
void ladder_limit(struct ladder *ladder, double weight);

/* Recomputes costs for a price of retransmissions that is higher by `more`. */
void ladder_reprice(struct ladder *ladder, double more);

/*
 * As text without blanks, and back: false if no ladder can have such sums. Costs in the text are
 * time only: its reader may have another price of retransmissions.
 */
enum { LADDER_BYTES = 640 };
size_t ladder_save(const struct ladder *ladder, double again_price, char text[LADDER_BYTES]);
bool ladder_load(struct ladder *ladder, double again_price, const char *text);

#endif
