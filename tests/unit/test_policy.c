/* SPDX-License-Identifier: MIT */
/*
 * Policy paper, history, the drop guard and a policy of the host's own on literal windows.
 */
#include "compute/estimator.h"

#include "estimators.h"
#include "tools.h"

#include <errno.h>
#include <string.h>

static uint32_t window_by(const char *policy, const uint32_t *cwnds, size_t n)
{
    struct riptide_estimator *estimator = estimator_of_policy(policy);
    uint32_t cwnd;

    for (size_t i = 0; i < n; i++)
        add_cwnd(estimator, cwnds[i]);
    riptide_estimator_tick(estimator, S);
    cwnd = cwnd_of(estimator);
    riptide_estimator_free(estimator);
    return cwnd;
}

static void paper_is_the_mean_of_windows(void **state)
{
    const uint32_t cwnds[] = { 30, 20, 85, 61 };

    (void)state;
    assert_int_equal(window_by("paper", cwnds, 4), 49);
}

static void no_weight_forgets_history(void **state)
{
    struct riptide_estimator_config config = config_of_policy("paper");
    struct riptide_estimator *estimator;

    (void)state;
    config.history_weight = 0;
    estimator = estimator_of_config(&config);
    add_cwnd(estimator, 90);
    riptide_estimator_tick(estimator, 1 * S);
    add_cwnd(estimator, 20);
    riptide_estimator_tick(estimator, 2 * S);
    assert_int_equal(cwnd_of(estimator), 20);
    riptide_estimator_free(estimator);
}

static void drop_guard_lets_history_hold_nothing_up(void **state)
{
    struct riptide_estimator_config config = config_of_policy("paper");
    struct riptide_estimator *estimator;

    (void)state;
    config.history_weight = 0.9;
    config.drop_share = 0.4;
    estimator = estimator_of_config(&config);
    add_cwnd(estimator, 100);
    riptide_estimator_tick(estimator, 1 * S);
    add_cwnd(estimator, 60); /* fell by 0.4, not by more */
    riptide_estimator_tick(estimator, 2 * S);
    assert_int_equal(cwnd_of(estimator), 96);
    assert_false(explain(estimator).is_drop);
    add_cwnd(estimator, 35);
    riptide_estimator_tick(estimator, 3 * S);
    assert_int_equal(cwnd_of(estimator), 35);
    assert_true(explain(estimator).is_drop);
    add_cwnd(estimator, 45); /* up again as slowly as ever */
    riptide_estimator_tick(estimator, 4 * S);
    assert_int_equal(cwnd_of(estimator), 36);
    riptide_estimator_free(estimator);
}

/* A host's own policy: the largest window, and how often it was asked, by its own pointer. */
static enum riptide_left_out largest_add(const struct riptide_policy_input *input, void *memory,
                                         const struct riptide_sample *sample)
{
    uint32_t *cwnd = memory;

    ++*(unsigned int *)input->user;
    if (sample->cwnd > *cwnd)
        *cwnd = sample->cwnd;
    return RIPTIDE_LEFT_OUT_NOT;
}

static double largest_combine(const struct riptide_policy_input *input, void *memory)
{
    *(unsigned int *)input->user += 100;
    return *(uint32_t *)memory;
}

static void functions_of_a_host_get_its_pointer(void **state)
{
    unsigned int n = 0;
    const struct riptide_policy policy = { .name = "largest",
                                           .tick_bytes = sizeof(uint32_t),
                                           .bytes = sizeof(uint32_t),
                                           .add = largest_add,
                                           .combine = largest_combine,
                                           .user = &n };
    struct riptide_estimator_config config = config_of_policy("paper");
    struct riptide_estimator *estimator;

    (void)state;
    config.policy = &policy;
    estimator = estimator_of_config(&config);
    add_cwnd(estimator, 30);
    add_cwnd(estimator, 85);
    add_cwnd(estimator, 61);
    riptide_estimator_tick(estimator, S);
    assert_int_equal(cwnd_of(estimator), 85);
    assert_int_equal(n, 103);
    riptide_estimator_free(estimator);
}

static void tables_are_complete(void **state)
{
    const struct riptide_policy *policy;
    size_t n;

    (void)state;
    for (n = 0; (policy = riptide_policy_get(n)); n++) {
        assert_ptr_equal(riptide_policy_find(policy->name), policy);
        assert_true(strlen(policy->help) > 0 && !strchr(policy->help, '\n'));
        assert_true(strlen(policy->needs) > 0);
        assert_true(policy->tick_bytes <= policy->bytes);
    }
    assert_int_equal(n, 3);
    assert_null(riptide_policy_find("no such"));
}

/* The defaults with one field changed, which must be refused by its name. */
#define REFUSED(option, value)                                                                      \
    do {                                                                                           \
        struct riptide_estimator_config config = config_of_policy("paper");                        \
        struct riptide_estimator *estimator = NULL;                                                \
        struct riptide_error error = { .text = "" };                                               \
                                                                                                   \
        config.option = value;                                                                      \
        assert_int_equal(riptide_estimator_new(&estimator, &config, &error), -EINVAL);             \
        assert_null(estimator);                                                                    \
        assert_string_equal(error.field, "estimator." #option);                                     \
    } while (0)

static void options_are_refused_by_name(void **state)
{
    struct riptide_policy too_much = *riptide_policy_find("paper");

    (void)state;
    too_much.bytes = 65537;
    REFUSED(drop_share, 1.01);
    REFUSED(drop_share, __builtin_nan(""));
    REFUSED(capacity_fraction, 0);
    REFUSED(capacity_fraction, __builtin_nan(""));
    REFUSED(capacity_fraction, 1.5);
    REFUSED(evidence_ns, S - 1);
    REFUSED(rto_min_floor_us, 999);
    REFUSED(rto_min_floor_us, 60000001);
    REFUSED(max_destinations, (1 << 24) + 1);
    REFUSED(policy, &too_much);
    REFUSED(policy, NULL);
}

static void assert_refused_with(const struct riptide_estimator_config *config, const char *text)
{
    struct riptide_estimator *estimator = NULL;
    struct riptide_error error = { .text = "" };

    assert_int_equal(riptide_estimator_new(&estimator, config, &error), -EINVAL);
    assert_null(estimator);
    assert_string_equal(error.text, text);
}

/* A count that was set without its array, or is none at all. */
static void counts_need_their_arrays(void **state)
{
    const struct riptide_hint override = { .dst = prefix_of_text("192.0.2.0/24") };
    const struct riptide_prefix aggregate = prefix_of_text("192.0.2.0/24");
    struct riptide_estimator_config config = config_of_policy("paper");

    (void)state;
    config.n_hints = 5;
    assert_refused_with(&config, "estimator.hints: NULL, but its number is 5");
    config.hints = &override;
    config.n_hints = (size_t)1 << 60;
    assert_refused_with(&config, "estimator.hints: 1152921504606846976; at most 2048");
    config = config_of_policy("paper");
    config.n_aggregates = 5;
    assert_refused_with(&config, "estimator.aggregates: NULL, but its number is 5");
    config.aggregates = &aggregate;
    config.n_aggregates = (size_t)1 << 60;
    assert_refused_with(&config, "estimator.aggregates: 1152921504606846976; at most 1048576");
    config.n_aggregates = SIZE_MAX;
    assert_refused_with(&config, "estimator.aggregates: 18446744073709551615; at most 1048576");
}

static void scope_of_a_reconfiguration_needs_its_arrays(void **state)
{
    const struct riptide_scope scope = { .n_learn = 5 };
    struct riptide_estimator_config config = config_of_policy("paper");
    struct riptide_estimator *estimator = estimator_of_config(&config);
    struct riptide_error error;

    (void)state;
    add_cwnd(estimator, 80);
    riptide_estimator_tick(estimator, 1 * S);
    assert_int_equal(estimator_reconfigure(estimator, &config, &scope, &error), -EINVAL);
    assert_string_equal(error.text, "observer.scope.learn: NULL, but its number is 5");
    assert_true(cwnd_of(estimator) > 0);
    riptide_estimator_free(estimator);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paper_is_the_mean_of_windows),
        cmocka_unit_test(no_weight_forgets_history),
        cmocka_unit_test(drop_guard_lets_history_hold_nothing_up),
        cmocka_unit_test(functions_of_a_host_get_its_pointer),
        cmocka_unit_test(tables_are_complete),
        cmocka_unit_test(options_are_refused_by_name),
        cmocka_unit_test(counts_need_their_arrays),
        cmocka_unit_test(scope_of_a_reconfiguration_needs_its_arrays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
