/* SPDX-License-Identifier: MIT */
/*
 * What an estimator says it knows: all of it in a walk, and which destination a peer belongs to.
 */
#include "estimators.h"

#include <string.h>

static void add_host(struct riptide_estimator *estimator, const char *dst, uint32_t cwnd)
{
    struct riptide_sample sample = { .dst = prefix_of_text(dst), .cwnd = cwnd };

    assert_int_equal(riptide_estimator_add(estimator, &sample), 0);
}

/* Walks over all, and sums up the windows. */
static uint32_t walk(const struct riptide_estimator *estimator, uint32_t *n)
{
    struct riptide_estimate estimate;
    uint32_t cursor = 0, sum = 0;

    for (*n = 0; riptide_estimator_next(estimator, &cursor, &estimate) == 0; (*n)++)
        sum += estimate.cwnd;
    assert_int_equal(riptide_estimator_next(estimator, &cursor, &estimate), RIPTIDE_E_DONE);
    return sum;
}

static void walk_sees_each_window_once(void **state)
{
    struct riptide_estimator *estimator = estimator_of_policy("paper");
    uint32_t n;

    (void)state;
    assert_int_equal(walk(estimator, &n), 0);
    assert_int_equal(n, 0);
    add_host(estimator, "192.0.2.1", 20);
    add_host(estimator, "192.0.2.2", 30);
    add_host(estimator, "2001:db8::1", 40);
    assert_int_equal(walk(estimator, &n), 0); /* no tick yet, no windows */
    riptide_estimator_tick(estimator, 1 * S);
    assert_int_equal(walk(estimator, &n), 90);
    assert_int_equal(n, 3);
    add_host(estimator, "192.0.2.2", 30);
    riptide_estimator_tick(estimator, 91 * S); /* two have passed, and nobody has popped that */
    assert_int_equal(walk(estimator, &n), 30);
    assert_int_equal(n, 1);
    riptide_estimator_free(estimator);
}

static void assert_group(const struct riptide_estimator *estimator, const char *peer,
                         const char *expected)
{
    struct riptide_prefix prefix = prefix_of_text(peer), dst;
    char text[RIPTIDE_PREFIX_TEXT_BYTES];

    riptide_estimator_group(estimator, &prefix, &dst);
    riptide_prefix_format(&dst, text);
    assert_string_equal(text, expected);
}

static void peer_belongs_to_its_destination(void **state)
{
    struct riptide_estimator_config config = config_of_policy("paper");
    struct riptide_prefix aggregate = prefix_of_text("198.51.100.0/22");
    struct riptide_estimator *estimator;

    (void)state;
    config.prefix_len4 = 24;
    config.aggregates = &aggregate;
    config.n_aggregates = 1;
    estimator = estimator_of_config(&config);
    assert_group(estimator, "192.0.2.77", "192.0.2.0/24");
    assert_group(estimator, "198.51.103.4", "198.51.100.0/22");
    assert_group(estimator, "2001:db8::1", "2001:db8::1");
    riptide_estimator_free(estimator);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walk_sees_each_window_once),
        cmocka_unit_test(peer_belongs_to_its_destination),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
