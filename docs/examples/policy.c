/* SPDX-License-Identifier: MIT */
/*
 * An estimator alone, with a policy of the program's own: the 75th percentile of the congestion
 * windows of a tick. It reads lines "ADDRESS CWND", and prints each destination's window.
 */
#include <riptide/compute.h>
#include <stdio.h>
#include <stdlib.h>

enum { SLOTS = 60 };

/* At most RIPTIDE_POLICY_MEMORY_BYTES: each new sample takes a slot, then a random one. */
struct reservoir {
    uint32_t n;
    uint16_t cwnds[SLOTS];
};

static enum riptide_left_out add(const struct riptide_policy_input *input, void *memory,
                                 const struct riptide_sample *sample)
{
    struct reservoir *seen = memory;
    uint32_t n, slot;

    (void)input;
    /* In an agent also those come that have sent nothing, whose window is still the initial one. */
    if (sample->data_segs_out == 0)
        return RIPTIDE_LEFT_OUT_UNUSED;
    if (sample->closed)
        return RIPTIDE_LEFT_OUT_IDLE;
    n = seen->n++;
    slot = n < SLOTS ? n : (n * 2654435761u >> 8) % (n + 1);
    if (slot < SLOTS)
        seen->cwnds[slot] = (uint16_t)sample->cwnd;
    return RIPTIDE_LEFT_OUT_NOT;
}

static int compare(const void *a, const void *b)
{
    return *(const uint16_t *)a - *(const uint16_t *)b;
}

static double combine(const struct riptide_policy_input *input, void *memory)
{
    struct reservoir *seen = memory;
    uint32_t n = seen->n < SLOTS ? seen->n : SLOTS;

    (void)input;
    if (seen->n == 0)
        return RIPTIDE_NO_EVIDENCE;
    qsort(seen->cwnds, n, sizeof(seen->cwnds[0]), compare);
    return seen->cwnds[(n * 3 - 1) / 4];
}

int main(void)
{
    static const struct riptide_policy p75 = { .name = "p75",
                                               .memory_bytes = sizeof(struct reservoir),
                                               .tick_bytes = sizeof(struct reservoir),
                                               .add = add,
                                               .combine = combine };
    const struct riptide_estimate *estimate;
    struct riptide_sample sample = { .data_segs_out = 1 };
    struct riptide_estimator_config config;
    struct riptide_estimator *estimator;
    struct riptide_error error;
    char text[RIPTIDE_PREFIX_TEXT_BYTES];

    riptide_estimator_config_init(&config, sizeof(config));
    config.policy = &p75;
    if (riptide_estimator_new(&estimator, &config, &error) < 0)
        return fprintf(stderr, "%s\n", error.text), 1;
    while (scanf("%49s %u", text, &sample.cwnd) == 2) {
        if (riptide_prefix_parse(&sample.dst, text) == 0)
            riptide_estimator_add(estimator, &sample);
    }
    riptide_estimator_tick(estimator, 1, false); /* any clock that does not go back */
    while (riptide_estimator_pop(estimator, &estimate) == 0) {
        riptide_prefix_format(&estimate->dst, text);
        printf("%s %u\n", text, estimate->cwnd);
    }
    riptide_estimator_free(estimator);
}
