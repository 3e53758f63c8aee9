/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a saved state: refused with one line and no effect, or loaded line by line, within
 * bounds and lifetimes, and saved again as text that loads as the same. Depending on the first
 * byte, a valid first line is put before them.
 */
#include "estimator.h"
#include "target.h"

static const uint64_t now_ns = 1000000 * UINT64_C(1000000000);

static struct riptide_estimator *draw_estimator(struct riptide_estimator_config *config,
                                                struct case_bytes *bytes)
{
    struct riptide_estimator *estimator;

    draw_config(config, bytes);
    if (riptide_estimator_new(&estimator, config, NULL) < 0)
        return NULL;
    draw_hints(estimator, bytes);
    for (uint8_t n = case_u8(bytes) % 8; n > 0; n--) {
        struct riptide_sample sample = draw_sample(bytes);

        riptide_estimator_add(estimator, &sample);
    }
    riptide_estimator_tick(estimator, now_ns - case_u8(bytes) * ns_per_s, false);
    return estimator;
}

static void check_windows(const struct riptide_estimator *estimator,
                          const struct riptide_estimator_config *config)
{
    struct riptide_estimate estimate;
    uint32_t cursor = 0, n = 0;

    while (riptide_estimator_next(estimator, &cursor, &estimate) == 0) {
        CASE_CHECK(estimate.cwnd <= RIPTIDE_CWND_LIMIT); /* 0: a hint is off */
        CASE_CHECK(estimate.cwnd <= estimate.cwnd_max);
        CASE_CHECK(estimate.updated_ns <= (int64_t)now_ns);
        CASE_CHECK(now_ns - (uint64_t)estimate.updated_ns < config->ttl_ns);
        n++;
    }
    CASE_CHECK(n <= config->max_destinations);
}

/* A saved state loads as the same with the same configuration. */
static void check_again(const struct riptide_estimator *estimator,
                        const struct riptide_estimator_config *config, uint64_t realtime_ns)
{
    struct riptide_load_counts counts;
    struct riptide_estimator *other;
    char *state, *again;
    size_t n, n_again;

    CASE_CHECK(riptide_estimator_new(&other, config, NULL) == 0);
    state = save_all(estimator, now_ns, realtime_ns, &n);
    CASE_CHECK(riptide_estimator_load(other, now_ns, realtime_ns, state, n, &counts, NULL) ==
               0);
    CASE_CHECK(counts.skipped + counts.expired == 0);
    again = save_all(other, now_ns, realtime_ns, &n_again);
    CASE_CHECK(n == n_again && memcmp(state, again, n) == 0);
    free(state);
    free(again);
    riptide_estimator_free(other);
}

static void load(struct riptide_estimator *estimator, const struct riptide_estimator_config *config,
                 uint64_t realtime_ns, const char *state, size_t n)
{
    struct riptide_error error = { .text = "" };
    char *before, *after;
    size_t n_before, n_after;
    int r;

    before = save_all(estimator, now_ns, realtime_ns, &n_before);
    r = riptide_estimator_load(estimator, now_ns, realtime_ns, state, n, NULL,
                               &error);
    if (r == 0) {
        riptide_estimator_tick(estimator, now_ns, false);
        check_windows(estimator, config);
        check_again(estimator, config, realtime_ns);
    } else {
        CASE_CHECK(r < 0 && !strncmp(error.text, "state: ", 7) && !strchr(error.text, '\n'));
        after = save_all(estimator, now_ns, realtime_ns, &n_after);
        CASE_CHECK(n_before == n_after && memcmp(before, after, n_before) == 0);
        free(after);
    }
    free(before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct case_bytes bytes = { data, n };
    uint8_t how = case_u8(&bytes);
    uint64_t realtime_ns = case_u16(&bytes) * ns_per_s;
    struct riptide_estimator *estimator;
    struct riptide_estimator_config config;
    static const char head[] = "riptide state 2 saved_ns=0\n";
    size_t n_head = how & 1 ? strlen(head) : 0, n_drawn;
    uint8_t *drawn_bytes;
    char *state;

    estimator = draw_estimator(&config, &bytes);
    if (!estimator)
        return 0;
    drawn_bytes = case_copy(&bytes, bytes.left, &n_drawn);
    state = malloc(n_head + n_drawn + 1);
    CASE_CHECK(state);
    memcpy(state, head, n_head);
    memcpy(state + n_head, drawn_bytes, n_drawn);
    load(estimator, &config, realtime_ns, state, n_head + n_drawn);
    free(state);
    free(drawn_bytes);
    riptide_estimator_free(estimator);
    return 0;
}
