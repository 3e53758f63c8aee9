/* SPDX-License-Identifier: MIT */
/*
 * Smoothings: how the combined window of a tick joins history, and the table of them. Pure.
 */
#include "smoothing.h"

#include "internal.h"
#include "tools.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Paper, Sec. III-B: exponentially weighted moving average; a first value stands for itself. */
static double smooth_ewma(const struct riptide_policy_input *input, void *memory, double history,
                          double combined)
{
    double history_weight = input->config->history_weight;

    (void)memory;
    if (history < 0)
        return combined;
    return history_weight * history + (1 - history_weight) * combined;
}

/* Paper, Sec. III-B: "ignore history entirely". */
static double smooth_none(const struct riptide_policy_input *input, void *memory, double history,
                          double combined)
{
    (void)input;
    (void)memory;
    (void)history;
    return combined;
}

enum { PARTS = 16 };

/*
 * The paper's "longer-view historical analysis" in bounded memory: window_ns in sixteen parts, of
 * each the mean. Part n of time is at n % PARTS; `newest` is its n.
 */
struct window {
    float mean[PARTS];
    uint16_t n[PARTS]; /* values in it; 0: it saw none */
    uint64_t newest;
};

static int compare_floats(const void *a, const void *b)
{
    float x, y;

    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return (x > y) - (x < y);
}

static double smooth_window(const struct riptide_policy_input *input, void *memory, double history,
                            double combined)
{
    uint64_t part = input->now_ns / (input->config->window_ns / PARTS) + 1, i = part % PARTS;
    struct window *window = memory;
    float sorted[PARTS];
    size_t n = 0;

    if (window->newest == 0 && history >= 0) { /* restored: its past is one value */
        window->mean[(i + PARTS - 1) % PARTS] = (float)history;
        window->n[(i + PARTS - 1) % PARTS] = 1;
        window->newest = part - 1;
    }
    for (uint64_t age = 0; age < PARTS && window->newest + age < part; age++)
        window->n[(part - age) % PARTS] = 0;
    window->newest = part;
    if (window->n[i] == 0)
        window->mean[i] = 0;
    if (window->n[i] < UINT16_MAX)
        window->n[i]++;
    window->mean[i] += ((float)combined - window->mean[i]) / (float)window->n[i];

    for (size_t j = 0; j < PARTS; j++) {
        if (window->n[j] > 0)
            sorted[n++] = window->mean[j];
    }
    qsort(sorted, n, sizeof(sorted[0]), compare_floats);
    return (double)sorted[(size_t)(input->config->window_percentile / 100 * (double)(n - 1) + 0.5)];
}

const struct riptide_smoothing smoothing_ewma = { "ewma",
                                                  "moving average, history_weight for history", 0,
                                                  smooth_ewma };
const struct riptide_smoothing smoothing_none = { "none", "the newest tick alone", 0, smooth_none };
static const struct riptide_smoothing smoothing_window = {
    "window", "window_percentile of the last window_ns", sizeof(struct window), smooth_window
};

static const struct riptide_smoothing *const smoothings[] = {
    &smoothing_ewma,
    &smoothing_none,
    &smoothing_window,
};

const struct riptide_smoothing *riptide_smoothing_get(size_t n)
{
    return n < sizeof(smoothings) / sizeof(smoothings[0]) ? smoothings[n] : NULL;
}

RIPTIDE_PUBLIC const struct riptide_smoothing *riptide_smoothing_find(const char *name)
{
    const struct riptide_smoothing *smoothing;

    for (size_t n = 0; (smoothing = riptide_smoothing_get(n)); n++) {
        if (strcmp(smoothing->name, name) == 0)
            return smoothing;
    }
    return NULL;
}
