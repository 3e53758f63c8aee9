/* SPDX-License-Identifier: MIT */
/*
 * The transfer-time model of the Riptide paper (Sec. II-B): how many round trips an object takes
 * from an initial window, and how long that is. Pure.
 *
 * A window doubles with each round trip. Nothing is lost, the receiver's window never limits, and
 * putting packets on the wire takes no time: real transfers take longer, never fewer round trips.
 */
#ifndef CLI_MODEL_TRANSFER_H
#define CLI_MODEL_TRANSFER_H

#include "distribution.h"

#include <stdint.h>

#define TRANSFER_MAX_ROUNDS 64

struct transfer_model {
    uint32_t window;       /* initial, segments; at least 1 */
    uint32_t mss_bytes;    /* at least 1 */
    uint32_t setup_rounds; /* before the object's first byte can leave: 1 for TCP's handshake */
};

/* What sizes and round trip times make of it, as independent of each other. */
struct transfer_forecast {
    double rounds_weight[TRANSFER_MAX_ROUNDS + 1]; /* of the sizes that take so many */
    double rounds_mean;
    struct distribution times_ms; /* sorted */
};

/* Round trips from the first byte's departure to the last one's arrival, as requests see them. */
uint32_t transfer_rounds(const struct transfer_model *model, uint64_t size_bytes);

/* Sizes in bytes, round trip times in ms, neither empty. Errors: -ENOMEM. */
int transfer_forecast(const struct transfer_model *model, const struct distribution *sizes_bytes,
                      const struct distribution *rtts_ms, struct transfer_forecast *forecast);

/* The share of sizes that take at most so many round trips. */
double transfer_share_within(const struct transfer_forecast *forecast, uint32_t rounds);

void transfer_forecast_deinit(struct transfer_forecast *forecast);

#endif
