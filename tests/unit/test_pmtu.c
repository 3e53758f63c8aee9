/* SPDX-License-Identifier: MIT */
/* The path MTU of a destination: which samples it is taken from, and when it ends. */
#include "estimators.h"

/* A sample of a second; the smallest counts. A window is popped where it or the path MTU changes. */
TEST(smallest_of_the_open_connections_of_a_host_counts)
{
    static const struct {
        uint32_t pmtus_bytes[2]; /* 0: this kernel does not report it */
        bool closed;
        uint32_t expected;
        bool is_news;
    } seconds[] = {
        { { 1500, 1300 }, false, 1300, true },
        { { 1500, 1300 }, false, 1300, false },
        { { 1500, 1500 }, false, 1500, true }, /* it ends with the connections that show it */
        { { 1500, 1300 }, false, 1300, true },
        { { 1300, 1300 }, true, 0, true },
        { { 0, 0 }, false, 0, false },
        { { 68, 68 }, false, 0, false },       /* of a route that went */
        { { 65536, 65536 }, false, 0, false }, /* loopback's */
    };
    ESTIMATOR *estimator = estimator_of_policy("paper");

    for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
        for (int k = 0; k < 2; k++) {
            const struct riptide_sample sample = { .dst = prefix("192.0.2.1"),
                                                   .cwnd = 20,
                                                   .pmtu_bytes = seconds[i].pmtus_bytes[k],
                                                   .closed = seconds[i].closed };

            riptide_estimator_add(estimator, &sample);
        }
        tick_at(estimator, (i + 1) * S);
        if (find_host(estimator, "192.0.2.1").pmtu_bytes != seconds[i].expected ||
            pop_all(estimator) != seconds[i].is_news)
            fail_msg("second %zu", i);
    }
}

TEST(prefix_has_none_and_it_is_forgotten_with_the_window)
{
    const struct riptide_sample sample = { .dst = prefix("192.0.2.1"), .cwnd = 20, .pmtu_bytes = 1300 };
    ESTIMATOR *of_prefix = ESTIMATOR_WITH("paper", config.prefix_len4 = 24);
    ESTIMATOR *estimator = estimator_of_policy("paper");

    show(of_prefix, sample, 1 * S);
    assert_int_equal(pop(of_prefix)->pmtu_bytes, 0);
    show(estimator, sample, 1 * S);
    assert_int_equal(pop(estimator)->pmtu_bytes, 1300);
    tick_at(estimator, 200 * S);
    assert_int_equal(pop(estimator)->pmtu_bytes, 0);
}
