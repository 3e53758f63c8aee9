/* SPDX-License-Identifier: MIT */
/*
 * Connections summed up per destination, for people to look at. Pure. Its memory grows with the
 * destinations, not with the connections.
 */
#ifndef CLI_AGGREGATE_H
#define CLI_AGGREGATE_H

#include <riptide/observe.h>

/* Windows in segments. A figure that no connection had is 0. */
struct aggregate_row {
    struct riptide_prefix dst;
    uint64_t connections;
    uint64_t cwnd_total;
    uint64_t cwnd_min;
    uint64_t cwnd_max;
    uint64_t rtt_total_us;
    uint64_t rtt_connections; /* those with a measurement */
    uint64_t min_rtt_us;      /* the smallest */
    uint64_t mss_bytes;       /* the smallest */
    uint64_t acked_bytes;
    uint64_t retrans_segs;
    uint64_t delivery_rate_Bps; /* the largest */
    double cwnd_mean;           /* set by aggregate_finish, as the next one is */
    uint64_t rtt_mean_us;
};

struct aggregate {
    void *index; /* tsearch(3) */
    struct aggregate_row **rows;
    size_t n_rows;
    size_t n_allocated;
};

/* Errors: -ENOMEM. */
int aggregate_add(struct aggregate *aggregate, const struct riptide_sample *sample);

/* Computes the means and sorts rows by destination, IPv4 first. */
void aggregate_finish(struct aggregate *aggregate);

/* Forgets all and frees it; the aggregate may be added to again. */
void aggregate_clear(struct aggregate *aggregate);

#endif
