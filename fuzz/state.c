/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a saved state: refused with one line and without a trace, or taken over, within
 * bounds and lifetimes, and saved again as bytes that load as the same. The checksum is put right
 * where the first byte says so: no other fuzzer than a patient one would ever get past it.
 */
#include "compute/crc32.h"
#include "estimator.h"
#include "target.h"

enum { CRC_BYTES = 4 };

static const uint64_t now_ns = 1000000 * UINT64_C(1000000000);

static struct riptide_estimator *draw_estimator(struct drawn_config *drawn,
                                                struct case_bytes *bytes)
{
    struct riptide_estimator *estimator;

    draw_config(drawn, bytes);
    if (riptide_estimator_new(&estimator, &drawn->config, NULL) < 0)
        return NULL;
    for (uint8_t n = case_u8(bytes) % 8; n > 0; n--) {
        struct riptide_sample sample = draw_sample(bytes);

        riptide_estimator_add(estimator, &sample);
    }
    riptide_estimator_tick(estimator, now_ns - case_u8(bytes) * ns_per_s);
    return estimator;
}

static void put_checksum_right(uint8_t *state, size_t n)
{
    uint32_t crc;

    if (n < CRC_BYTES)
        return;
    crc = crc32(state, n - CRC_BYTES);
    for (size_t i = 0; i < CRC_BYTES; i++)
        state[n - CRC_BYTES + i] = (uint8_t)(crc >> 8 * i);
}

static void check_windows(const struct riptide_estimator *estimator,
                          const struct riptide_estimator_config *config)
{
    struct riptide_estimate estimate;
    uint32_t cursor = 0, n = 0;

    while (riptide_estimator_next(estimator, &cursor, &estimate) == 0) {
        CASE_CHECK(estimate.cwnd >= 1 && estimate.cwnd <= RIPTIDE_CWND_LIMIT);
        CASE_CHECK(estimate.cwnd <= estimate.cwnd_max);
        CASE_CHECK(estimate.expires_ns > now_ns);
        CASE_CHECK(estimate.updated_ns <= now_ns && now_ns - estimate.updated_ns < config->ttl_ns);
        n++;
    }
    CASE_CHECK(n <= config->max_destinations);
}

/* What is saved loads as the same where the configuration is. */
static void check_again(const struct riptide_estimator *estimator,
                        const struct riptide_estimator_config *config, uint64_t realtime_ns)
{
    struct riptide_load_counts counts;
    struct riptide_estimator *other;
    uint8_t *state, *again;
    size_t n, n_again;

    CASE_CHECK(riptide_estimator_new(&other, config, NULL) == 0);
    state = save_all(estimator, now_ns, realtime_ns, &n);
    CASE_CHECK(riptide_estimator_load(other, now_ns, realtime_ns, state, n, &counts, NULL) == 0);
    CASE_CHECK(
        counts.expired + counts.older + counts.regrouped + counts.repoliced + counts.overflow == 0);
    again = save_all(other, now_ns, realtime_ns, &n_again);
    CASE_CHECK(n == n_again && memcmp(state, again, n) == 0);
    free(state);
    free(again);
    riptide_estimator_free(other);
}

static void load(struct riptide_estimator *estimator, const struct riptide_estimator_config *config,
                 bool is_replacing, uint64_t realtime_ns, const uint8_t *state, size_t n)
{
    uint8_t *before, *after;
    struct riptide_error error = { .text = "" };
    size_t n_before, n_after;
    int r;

    before = save_all(estimator, now_ns, realtime_ns, &n_before);
    r = is_replacing
            ? riptide_estimator_replace(estimator, now_ns, realtime_ns, state, n, NULL, &error)
            : riptide_estimator_load(estimator, now_ns, realtime_ns, state, n, NULL, &error);
    if (r == 0) {
        riptide_estimator_tick(estimator, now_ns);
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
    struct drawn_config drawn;
    uint8_t *state;
    size_t n_state;

    estimator = draw_estimator(&drawn, &bytes);
    if (!estimator)
        return 0;
    state = case_copy(&bytes, bytes.left, &n_state);
    if (how & 1)
        put_checksum_right(state, n_state);
    load(estimator, &drawn.config, how & 2, realtime_ns, state, n_state);
    free(state);
    riptide_estimator_free(estimator);
    return 0;
}
