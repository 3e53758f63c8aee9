/* SPDX-License-Identifier: MIT */
/*
 * What "careful" and "bdp" read out of samples: whether one says anything, what it says of the path
 * and of its first flight, how many connections open together, and the highest of the last
 * evidence_ns in bounded memory. Pure.
 */
#ifndef RIPTIDE_LIB_COMPUTE_EVIDENCE_H
#define RIPTIDE_LIB_COMPUTE_EVIDENCE_H

#include <riptide/compute.h>

/*
 * An initial window that is in wide use, and harmless: where nothing is known of first flights, and
 * by a route where what is known fits only paced.
 */
enum { START_CWND = 24 };

/*
 * Connections in their first two windows by how many round trips ago they last sent. Those of one
 * slot opened together, as far as one look can tell.
 */
struct opening {
    uint8_t n[4];
};

/* Not used, idle, or without what a rate needs. */
enum riptide_left_out evidence_check(const struct riptide_sample *sample);

/* Segments that the path delivered in its smallest round trip. Needs evidence_check. */
double evidence_capacity(const struct riptide_sample *sample);

/*
 * What the buffer at the bottleneck was seen to take at once, segments: what waits there, RTT above
 * the smallest times the rate. A window that grew without a single retransmission was sent in slow
 * start at twice the rate of the bottleneck, which left half of it in the queue.
 */
double evidence_burst(const struct riptide_sample *sample, double capacity);

/*
 * Whether the connection lost something, or waits in a queue: an eighth of the smallest round trip
 * time, within 4 and 16 ms, is where slow start ends before it loses (RFC 9406, Sec. 4.2).
 */
bool evidence_has_met_limit(const struct riptide_sample *sample);

enum flight {
    FLIGHT_NONE,     /* nothing is known of it */
    FLIGHT_DOUBTFUL, /* it, or a later one, has lost */
    FLIGHT_SMALL,    /* over, but less than the window */
    FLIGHT_WHOLE,    /* took the whole window, or lost much of less */
};

struct first_flight {
    enum flight kind;
    uint32_t segs, lost_segs;
};

/*
 * What the counters of a new connection tell of its first flight under the window of the input. An
 * open one is asked when its flight is over, acknowledged to the end, or has lost; a flight that a
 * dump has counted is not counted again when the connection closes.
 */
struct first_flight first_flight_of(const struct riptide_sample *sample,
                                    const struct riptide_policy_input *input, bool is_bbr);

/* Segments with data, without those sent again, which data_segs_out counts as well. */
static inline uint32_t evidence_segs_sent_once(const struct riptide_sample *sample)
{
    uint32_t sent = sample->data_segs_out, again = sample->retrans_segs;

    return sent > again ? sent - again : 0;
}

/* Takes in a connection that can only be in the first flights that `cwnd` allowed it. */
void opening_add(struct opening *opening, const struct riptide_sample *sample, uint32_t cwnd);

/* How many connections open together: at least 1. */
uint8_t opening_sharers(const struct opening *opening);

enum halves_step {
    HALVES_STAY,   /* this half goes on */
    HALVES_SHIFT,  /* a new one begins; this one is the half before */
    HALVES_FORGET, /* a new one begins; all before is too old */
};

/*
 * The highest of the last evidence_ns at most, and of half of that at least: values are kept as
 * {this half, the half before}. *since is when this half began, in 2^26 ns (67 ms), 0 where none
 * has; it wraps after 73 minutes.
 */
enum halves_step halves_turn(uint16_t *since, const struct riptide_policy_input *input);

/* Applies the step to one pair of values and takes the newest in. */
#define HALVES_TAKE(step, pair, value)                                                             \
    do {                                                                                           \
        if ((step) != HALVES_STAY) {                                                               \
            (pair)[1] = (step) == HALVES_SHIFT ? (pair)[0] : 0;                                    \
            (pair)[0] = 0;                                                                         \
        }                                                                                          \
        if ((value) > (pair)[0])                                                                   \
            (pair)[0] = (value);                                                                   \
    } while (0)

#define HALVES_MAX(pair) ((pair)[0] > (pair)[1] ? (pair)[0] : (pair)[1])

#endif
