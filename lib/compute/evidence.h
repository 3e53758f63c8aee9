/* SPDX-License-Identifier: MIT */
/*
 * Evidence in samples for "careful" and "bdp": whether a sample has any, what it shows about the
 * path and its first flight, how many connections open together, and the highest values of the last
 * minute in bounded memory. Pure.
 */
#ifndef RIPTIDE_LIB_COMPUTE_EVIDENCE_H
#define RIPTIDE_LIB_COMPUTE_EVIDENCE_H

#include <riptide/compute.h>

/*
 * An initial window in wide use, and harmless: used while first flights have shown nothing, and by
 * routes where the known window fits only when paced.
 */
enum { START_CWND = 24 };

/* Ticks in which connections fill a path are rare; a path that differs after it is another one. */
enum { EVIDENCE_S = 60 };

/*
 * Connections in their first two windows, by the number of round trips since they last sent. Those
 * of one slot opened together, as far as one dump can show.
 */
struct opening {
    uint8_t n[4];
};

/* Left out if not used, idle, or without the figures of a rate. */
enum riptide_left_out evidence_check(const struct riptide_sample *sample);

/* Segments that the path delivers in its smallest round trip. Requires evidence_check. */
double evidence_capacity(const struct riptide_sample *sample);

/*
 * Segments that the bottleneck buffer has held at once: the queue, that is RTT above the smallest,
 * times the rate. A window that grew without retransmissions was sent in slow start at twice the
 * rate of the bottleneck, so half of it was in the queue.
 */
double evidence_burst(const struct riptide_sample *sample, double capacity);

/*
 * Whether the connection had losses, or waits in a queue: an eighth of the smallest round trip
 * time, within 4 and 16 ms, is where slow start ends before it loses (RFC 9406, Sec. 4.2).
 */
bool evidence_has_met_limit(const struct riptide_sample *sample);

enum flight {
    FLIGHT_NONE,     /* no evidence */
    FLIGHT_DOUBTFUL, /* it or a later flight had losses */
    FLIGHT_SMALL,    /* complete, but smaller than the window */
    FLIGHT_WHOLE,    /* filled the window, or lost much of a smaller flight */
};

struct first_flight {
    enum flight kind;
    uint32_t segs, lost_segs;
};

/*
 * What the counters of a new connection show about its first flight with the input's window. An
 * open one counts when its flight is over, that is fully acknowledged, or had losses; a flight that
 * a dump has counted is not counted again when the connection closes.
 */
struct first_flight first_flight_of(const struct riptide_sample *sample,
                                    const struct riptide_policy_input *input, bool is_bbr);

/* Segments with data, without retransmissions, which data_segs_out includes. */
static inline uint32_t evidence_segs_sent_once(const struct riptide_sample *sample)
{
    uint32_t sent = sample->data_segs_out, again = sample->retrans_segs;

    return sent > again ? sent - again : 0;
}

/* Adds a connection if it is still in the first flights that `cwnd` allowed. */
void opening_add(struct opening *opening, const struct riptide_sample *sample, uint32_t cwnd);

/* How many connections open together: at least 1. */
uint8_t opening_sharers(const struct opening *opening);

enum halves_step {
    HALVES_STAY,   /* this half continues */
    HALVES_SHIFT,  /* a new half begins; this one becomes the former */
    HALVES_FORGET, /* a new half begins; all before is too old */
};

/*
 * The highest value of at most the last EVIDENCE_S, and at least half of that: values are kept as
 * {this half, the former half}. *since is when this half began, in 2^26 ns (67 ms), 0: not yet; it
 * wraps after 73 minutes.
 */
enum halves_step halves_turn(uint16_t *since, const struct riptide_policy_input *input);

/* Applies the step to one pair of values and adds the newest. */
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
