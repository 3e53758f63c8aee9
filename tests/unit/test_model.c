/* SPDX-License-Identifier: MIT */
/*
 * The transfer-time model against its own definition, counted segment by segment, and against
 * figures that the Riptide paper prints.
 */
#include "model/transfer.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static uint32_t count_rounds(uint64_t segments, uint32_t window)
{
    uint64_t left_in_flight = window, flight = window;
    uint32_t rounds = 1;

    for (; segments > 0; segments--, left_in_flight--) {
        if (left_in_flight == 0) {
            flight *= 2;
            left_in_flight = flight;
            rounds++;
        }
    }
    return rounds;
}

static void test_rounds(void **state)
{
    (void)state;
    for (uint32_t window = 1; window < 130; window += 7) {
        struct transfer_model model = { .window = window, .mss_bytes = 1000 };

        for (uint64_t segments = 1; segments < 900; segments++) {
            uint32_t rounds = count_rounds(segments, window);

            assert_int_equal(transfer_rounds(&model, segments * 1000), rounds);
            assert_int_equal(transfer_rounds(&model, segments * 1000 - 999), rounds);
        }
    }
}

static void test_rounds_at_the_ends(void **state)
{
    struct transfer_model smallest = { .window = 1, .mss_bytes = 1 };
    struct transfer_model largest = { .window = UINT32_MAX, .mss_bytes = UINT32_MAX };

    (void)state;
    assert_int_equal(transfer_rounds(&smallest, 0), 1);
    assert_int_equal(transfer_rounds(&smallest, UINT64_MAX), 64);
    assert_int_equal(transfer_rounds(&largest, UINT64_MAX), 2);
}

/* Sec. II: 100 KB take one round trip from 100 segments; from 10, two more. */
static void test_forecast(void **state)
{
    struct transfer_model model = { .window = 10, .mss_bytes = 1500, .setup_rounds = 1 };
    struct distribution sizes = { .n = 0 }, rtts = { .n = 0 };
    struct transfer_forecast forecast;

    (void)state;
    assert_int_equal(distribution_add(&sizes, 100000, 1), 0);
    assert_int_equal(distribution_add(&sizes, 15000, 3), 0);
    assert_int_equal(distribution_add(&rtts, 50, 1), 0);
    assert_int_equal(distribution_add(&rtts, 200, 1), 0);
    assert_int_equal(transfer_forecast(&model, &sizes, &rtts, &forecast), 0);
    assert_true(transfer_share_within(&forecast, 1) == 0.75);
    assert_true(transfer_share_within(&forecast, 2) == 0.75);
    assert_true(transfer_share_within(&forecast, 3) == 1);
    assert_true(forecast.rounds_mean == 1.5);
    assert_int_equal(forecast.times_ms.n, 4);
    assert_true(distribution_quantile(&forecast.times_ms, 0.3) == 100);
    assert_true(distribution_quantile(&forecast.times_ms, 0.5) == 200);
    assert_true(distribution_quantile(&forecast.times_ms, 0.6) == 400);
    assert_true(distribution_quantile(&forecast.times_ms, 1) == 800);
    assert_true(distribution_mean(&forecast.times_ms) == 312.5);
    transfer_forecast_deinit(&forecast);
    distribution_deinit(&sizes);
    distribution_deinit(&rtts);
}

static void test_lines(void **state)
{
    static const char *const wrong[] = { "size", "1,",   "1,2,3", "-1", "0",     "1,0", "nan",
                                         "inf",  "0x10", "1 2",   "1e", "1e400", "+1" };
    struct distribution distribution = { .n = 0 };

    (void)state;
    assert_int_equal(distribution_add_line(&distribution, "15000\n"), 0);
    assert_int_equal(distribution_add_line(&distribution, " 1.5e4 , 2\r\n"), 0);
    assert_int_equal(distribution_add_line(&distribution, "# comment\n"), 0);
    assert_int_equal(distribution_add_line(&distribution, "\n"), 0);
    assert_int_equal(distribution.n, 2);
    assert_true(distribution.items[1].value == 15000 && distribution.items[1].weight == 2);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(distribution_add_line(&distribution, wrong[i]), -EINVAL);
    assert_int_equal(distribution.n, 2);
    assert_true(distribution.weight == 3);
    distribution_deinit(&distribution);
}

static void test_quantiles_without_values(void **state)
{
    struct distribution distribution = { .n = 0 };

    (void)state;
    distribution_sort(&distribution);
    assert_true(distribution_quantile(&distribution, 0.5) == 0);
    assert_true(distribution_mean(&distribution) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounds),
        cmocka_unit_test(test_rounds_at_the_ends),
        cmocka_unit_test(test_forecast),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_quantiles_without_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
