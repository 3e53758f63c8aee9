/* SPDX-License-Identifier: MIT */
/*
 * The path MTU of a destination: which samples it is taken from, and when it is let go.
 */
#include "estimators.h"

static struct riptide_sample sample_of(const char *dst, uint32_t pmtu_bytes)
{
    return (struct riptide_sample){ .dst = prefix(dst),
                                    .cwnd = 20,
                                    .pmtu_bytes = pmtu_bytes,
                                    .last_data_sent_ms = 100 };
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
        uint32_t pmtu_bytes, last_data_sent_ms;
        bool closed;
    } cases[] = {
        { "192.0.2.1", 0, 100, false },       /* this kernel does not report it */
        { "192.0.2.1", 68, 100, false },      /* of a route that went */
        { "192.0.2.1", 552, 100, false },     /* net.ipv4.route.min_pmtu: may be locked */
        { "192.0.2.1", 65536, 100, false },   /* loopback's */
        { "192.0.2.1", 1300, 30001, false },  /* learned at an unknown time */
        { "192.0.2.1", 1300, 100, true },     /* closed */
        { "198.51.100.1", 1300, 100, false }, /* one of a prefix */
    };
    struct riptide_prefix aggregate = prefix("198.51.100.0/24");
    struct riptide_estimator_config config = config_of_policy("paper");

    config.aggregates = &aggregate;
    config.n_aggregates = 1;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        ESTIMATOR *estimator = estimator_of_config(&config);
        struct riptide_sample sample = sample_of(cases[i].dst, cases[i].pmtu_bytes);

        riptide_estimator_add(estimator, &(struct riptide_sample){ .dst = sample.dst, .cwnd = 20 });
        sample.last_data_sent_ms = cases[i].last_data_sent_ms;
        sample.closed = cases[i].closed;
        show(estimator, sample, 1 * S);
        if (pop_pmtu(estimator) != 0)
            fail_msg("case %zu", i);
    }
}

/* Connections that go by a small one go on showing it, whatever the path has become. */
TEST(is_let_go_for_a_minute_of_ten)
{
    ESTIMATOR *estimator = estimator_of_policy("paper");
    struct riptide_sample sample = sample_of("192.0.2.1", 1300);
    uint64_t without_s = 0, changes = 0;
    uint32_t before_bytes = 0;

    for (uint64_t now_s = 5000; now_s < 5000 + 1200; now_s++) {
        uint32_t pmtu_bytes;

        show(estimator, sample, now_s * S);
        pmtu_bytes = find_host(estimator, "192.0.2.1").pmtu_bytes;
        without_s += pmtu_bytes == 0;
        assert_int_equal(pop(estimator) != NULL, pmtu_bytes != before_bytes);
        changes += pmtu_bytes != before_bytes;
        before_bytes = pmtu_bytes;
    }
    /* The samples of the tick that ends it come before. */
    assert_int_equal(without_s, 61 + 60);
    assert_int_equal(changes, 4);
    sample.pmtu_bytes = 1400;
    for (uint64_t now_s = 6200; now_s < 6700; now_s++) {
        show(estimator, sample, now_s * S);
    }
    assert_int_equal(find_host(estimator, "192.0.2.1").pmtu_bytes, 1400);
}

TEST(is_forgotten_with_the_window)
{
    ESTIMATOR *estimator = estimator_of_policy("paper");
    struct riptide_sample sample = sample_of("192.0.2.1", 1300);

    show(estimator, sample, 1 * S);
    assert_int_equal(pop_pmtu(estimator), 1300);
    riptide_estimator_tick(estimator, 200 * S);
    assert_int_equal(pop_pmtu(estimator), 0);
}
