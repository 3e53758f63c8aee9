/* SPDX-License-Identifier: MIT */
/*
 * The path MTU of a destination: which samples it is taken from, and when it ends.
 */
#include "estimators.h"

static struct riptide_sample sample_of(const char *dst, uint32_t pmtu_bytes)
{
    return (struct riptide_sample){ .dst = prefix(dst),
                                    .cwnd = 20,
                                    .pmtu_bytes = pmtu_bytes };
}

/* The path MTU that must result from the one change. */
static uint32_t pop_pmtu(struct riptide_estimator *estimator)
{
    uint32_t pmtu_bytes = pop(estimator)->pmtu_bytes;

    assert_null(pop(estimator));
    return pmtu_bytes;
}

TEST(smallest_of_a_host_goes_with_its_window)
{
    ESTIMATOR *estimator = estimator_of_policy("paper");
    struct riptide_sample wide = sample_of("192.0.2.1", 1500);
    struct riptide_sample narrow = sample_of("192.0.2.1", 1300);

    riptide_estimator_add(estimator, &wide);
    riptide_estimator_add(estimator, &narrow);
    show(estimator, wide, 1 * S);
    assert_int_equal(pop_pmtu(estimator), 1300);
    assert_int_equal(find_host(estimator, "192.0.2.1").pmtu_bytes, 1300);
}

TEST(smaller_one_is_news_by_itself)
{
    ESTIMATOR *estimator = estimator_of_policy("paper");
    struct riptide_sample sample = sample_of("192.0.2.1", 1500);

    for (uint64_t now_s = 1; now_s <= 4; now_s++) {
        static const uint32_t shown[] = { 0, 1500, 1500, 1300, 1300 };

        sample.pmtu_bytes = shown[now_s];
        show(estimator, sample, now_s * S);
        assert_int_equal(pop(estimator) != NULL, now_s == 1 || now_s == 3);
    }
}

TEST(what_says_nothing_of_the_path_of_a_host_is_not_taken)
{
    static const struct {
        const char *dst;
        uint32_t pmtu_bytes;
        bool closed;
    } cases[] = {
        { "192.0.2.1", 0, false },       /* this kernel does not report it */
        { "192.0.2.1", 68, false },      /* of a route that went */
        { "192.0.2.1", 65536, false },   /* loopback's */
        { "192.0.2.1", 1300, true },     /* closed */
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        ESTIMATOR *estimator = estimator_of_policy("paper");
        struct riptide_sample sample = sample_of(cases[i].dst, cases[i].pmtu_bytes);

        riptide_estimator_add(estimator, &(struct riptide_sample){ .dst = sample.dst, .cwnd = 20 });
        sample.closed = cases[i].closed;
        show(estimator, sample, 1 * S);
        if (pop_pmtu(estimator) != 0)
            fail_msg("case %zu", i);
    }
}

TEST(prefix_has_none)
{
    ESTIMATOR *estimator = ESTIMATOR_WITH("paper", config.prefix_len4 = 24);

    show(estimator, sample_of("192.0.2.1", 1300), 1 * S);
    assert_int_equal(pop_pmtu(estimator), 0);
}

TEST(ends_with_the_connections_that_show_it)
{
    ESTIMATOR *estimator = estimator_of_policy("paper");
    struct riptide_sample wide = sample_of("192.0.2.1", 1500);
    struct riptide_sample narrow = sample_of("192.0.2.1", 1300);

    riptide_estimator_add(estimator, &narrow);
    show(estimator, wide, 1 * S);
    assert_int_equal(pop_pmtu(estimator), 1300);
    show(estimator, wide, 2 * S);
    assert_int_equal(pop_pmtu(estimator), 1500);
    show(estimator, narrow, 3 * S);
    assert_int_equal(pop_pmtu(estimator), 1300);
    narrow.closed = true;
    show(estimator, narrow, 4 * S);
    assert_int_equal(pop_pmtu(estimator), 0);
}

TEST(is_forgotten_with_the_window)
{
    ESTIMATOR *estimator = estimator_of_policy("paper");
    struct riptide_sample sample = sample_of("192.0.2.1", 1300);

    show(estimator, sample, 1 * S);
    assert_int_equal(pop_pmtu(estimator), 1300);
    tick_at(estimator, 200 * S);
    assert_int_equal(pop_pmtu(estimator), 0);
}
