/* SPDX-License-Identifier: MIT */
/*
 * One simulated path: a bottleneck with a drop-tail buffer, its connections, and their struct
 * tcp_info. Round by round; no packets. lab/sim/README.md has the model.
 */
#ifndef LAB_SIM_PATH_H
#define LAB_SIM_PATH_H

#include <riptide/compute.h>

enum { PATH_FLOWS = 48, PATH_HOSTS = 3, MSS_BYTES = 1448 };

/* Seeded and the same on every machine. */
struct dice {
    uint64_t state;
};

double dice_unit(struct dice *dice);                         /* 0 to below 1 */
double dice_log(struct dice *dice, double low, double high); /* evenly over the logarithm */

struct flow {
    bool is_open;
    bool is_busy; /* sends without end; else `left` segments */
    bool is_slow_start;
    bool is_first; /* it sends its first flight in the next round */
    bool is_paced; /* over that round */
    uint32_t host;
    double cwnd;         /* segments */
    double left;         /* to send, segments */
    double limit;        /* its application's limit per round trip, segments; 0: none */
    double rounds;       /* so far */
    double sent, resent; /* segments */
    double rate;         /* recent delivery rate, segments per second */
    double busy_s;       /* time with segments in flight */
    double ssthresh;     /* segments; 0: none yet */
    double last_sent_s;
    double closes_s; /* when it closes, after its transfer */
};

/* The figures by which policies are compared. */
struct score {
    double flights;    /* first flights */
    double overflowed; /* of those, into a full buffer */
    double transfers;  /* complete */
    double rounds;     /* round trips that they took, in total */
    double segments, resent;
};

struct path {
    struct dice dice;
    double base_rate, rate; /* segments a second */
    double rtt_s;           /* without queue */
    double buffer;          /* segments */
    double queue;           /* segments */
    double now_s, next_open_s, next_change_s;
    uint32_t hosts; /* destinations that share it */
    struct flow flows[PATH_FLOWS];
};

void path_init(struct path *path, uint64_t seed);

/* How new connections to a host start. */
struct start {
    uint32_t cwnd; /* segments */
    bool is_paced;
};

/* Simulates until `end_s`; new connections to host n start as starts[n]. */
void path_run(struct path *path, double end_s, const struct start *starts, struct score *score);

/* The sample of a connection in a dump. */
struct riptide_sample flow_sample(const struct path *path, const struct flow *flow);

#endif
