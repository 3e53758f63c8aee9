/* SPDX-License-Identifier: MIT */
/*
 * Round trips and times of transfers. See transfer.h.
 */
#include "transfer.h"

uint32_t transfer_rounds(const struct transfer_model *model, uint64_t size_bytes)
{
    uint64_t segments = size_bytes / model->mss_bytes + (size_bytes % model->mss_bytes > 0);
    uint64_t flight = model->window;
    uint32_t rounds = 1;

    while (segments > flight) {
        segments -= flight;
        /* What is left is at most twice as much in some round, so that this cannot overflow. */
        flight *= 2;
        rounds++;
    }
    return rounds;
}

static int multiply(const struct transfer_model *model, const struct distribution *rtts_ms,
                    struct transfer_forecast *forecast)
{
    for (uint32_t rounds = 1; rounds <= TRANSFER_MAX_ROUNDS; rounds++) {
        double weight = forecast->rounds_weight[rounds];

        for (size_t i = 0; weight > 0 && i < rtts_ms->n; i++) {
            const struct distribution_item *rtt_ms = &rtts_ms->items[i];
            int r = distribution_add(&forecast->times_ms,
                                     rtt_ms->value * (rounds + model->setup_rounds),
                                     rtt_ms->weight * weight);

            if (r < 0)
                return r;
        }
    }
    return 0;
}

int transfer_forecast(const struct transfer_model *model, const struct distribution *sizes_bytes,
                      const struct distribution *rtts_ms, struct transfer_forecast *forecast)
{
    int r;

    *forecast = (struct transfer_forecast){ .rounds_mean = 0 };
    for (size_t i = 0; i < sizes_bytes->n; i++) {
        const struct distribution_item *size = &sizes_bytes->items[i];
        uint32_t rounds = transfer_rounds(model, (uint64_t)size->value);

        forecast->rounds_weight[rounds] += size->weight;
        forecast->rounds_mean += size->weight * rounds / sizes_bytes->weight;
    }
    r = multiply(model, rtts_ms, forecast);
    if (r < 0)
        transfer_forecast_deinit(forecast);
    else
        distribution_sort(&forecast->times_ms);
    return r;
}

double transfer_share_within(const struct transfer_forecast *forecast, uint32_t rounds)
{
    double within = 0, all = 0;

    for (uint32_t i = 0; i <= TRANSFER_MAX_ROUNDS; i++) {
        all += forecast->rounds_weight[i];
        within += i <= rounds ? forecast->rounds_weight[i] : 0;
    }
    return all > 0 ? within / all : 0;
}

void transfer_forecast_deinit(struct transfer_forecast *forecast)
{
    distribution_deinit(&forecast->times_ms);
}
