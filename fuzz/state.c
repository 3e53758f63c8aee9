/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a saved state: refused with one line and no effect, or loaded line by line, within
 * bounds and lifetimes, and saved as text that loads as the same. The first byte chooses the policy,
 * and whether a valid first line comes before the others.
 */
#include "policies.h"
#include "target.h"

#include <riptide/compute.h>
#include <string.h>

static const uint64_t now_ns = 1000000 * UINT64_C(1000000000);

static struct riptide_estimator *make(const struct riptide_estimator_config *config)
{
    struct riptide_estimator *estimator;

    CASE_CHECK(riptide_estimator_new(&estimator, config, NULL) == 0);
    return estimator;
}

static void check_windows(const struct riptide_estimator *estimator,
                          const struct riptide_estimator_config *config)
{
    struct riptide_estimate estimate;
    uint32_t cursor = 0;

    while (riptide_estimator_next(estimator, &cursor, &estimate) == 0) {
        CASE_CHECK(estimate.cwnd >= config->cwnd_min && estimate.cwnd <= config->cwnd_max);
        CASE_CHECK(estimate.updated_ns <= (int64_t)now_ns);
        CASE_CHECK(now_ns - (uint64_t)estimate.updated_ns < config->ttl_ns);
    }
}

static void check_again(const struct riptide_estimator *estimator,
                        const struct riptide_estimator_config *config, uint64_t realtime_ns)
{
    struct riptide_estimator *other = make(config);
    struct riptide_error error;
    char *state = riptide_estimator_save(estimator, now_ns, realtime_ns), *again;

    CASE_CHECK(state);
    CASE_CHECK(riptide_estimator_load(other, now_ns, realtime_ns, state, strlen(state), &error) ==
               0);
    CASE_CHECK(strstr(error.text, "expired: 0, others: 0"));
    again = riptide_estimator_save(other, now_ns, realtime_ns);
    CASE_CHECK(again && strcmp(state, again) == 0);
    free(state);
    free(again);
    riptide_estimator_free(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char head[] = "riptide state 2 saved_ns=0\n";
    struct case_bytes bytes = { data, n };
    uint8_t how = case_u8(&bytes);
    uint64_t realtime_ns = case_u8(&bytes) * UINT64_C(1000000000);
    size_t n_head = how & 1 ? strlen(head) : 0, n_state = n_head + bytes.left;
    struct riptide_error error = { .text = "" };
    struct riptide_estimator_config config;
    struct riptide_estimator *estimator;
    char *state = malloc(n_state + 1);
    int r;

    CASE_CHECK(state);
    memcpy(state, head, n_head);
    memcpy(state + n_head, bytes.at, bytes.left);
    riptide_estimator_config_init(&config, sizeof(config));
    config.policy = riptide_policy_find(policies[how / 2 % N_POLICIES]);
    estimator = make(&config);
    r = riptide_estimator_load(estimator, now_ns, realtime_ns, state, n_state, &error);
    free(state);
    CASE_CHECK(r == 0 || (!strncmp(error.text, "state: ", 7) && !strchr(error.text, '\n')));
    riptide_estimator_tick(estimator, now_ns, false);
    check_windows(estimator, &config);
    check_again(estimator, &config, realtime_ns);
    riptide_estimator_free(estimator);
    return 0;
}
