/* SPDX-License-Identifier: MIT */
/*
 * Sums per destination, from samples that are made up.
 */
#include "samples.h"
#include "unit.h"

static struct riptide_sample make_sample(const char *dst, uint32_t cwnd)
{
    struct riptide_sample sample = { .cwnd = cwnd };

    assert_int_equal(riptide_prefix_parse(&sample.dst, dst), 0);
    return sample;
}

TEST(figures)
{
    struct riptide_sample a = make_sample("10.0.0.2", 10);
    struct riptide_sample b = make_sample("10.0.0.2", 45);
    struct prefix_table index;
    json_t *rows, *expected;

    aggregate_init(&index, 1);
    a.rtt_us = 300;
    a.min_rtt_us = 200;
    a.mss_bytes = 1460;
    a.acked_bytes = UINT64_C(5000000000);
    a.retrans_segs = 3;
    a.delivery_rate_Bps = 7;
    b.mss_bytes = 1400;
    b.acked_bytes = 1;
    b.delivery_rate_Bps = 9;
    assert_int_equal(aggregate_add(&index, &a), 0);
    assert_int_equal(aggregate_add(&index, &b), 0);
    rows = aggregate_to_json(&index);
    /* b measured no round trip: it must not count as one of 0. */
    expected = json_loads("[{\"dst\":\"10.0.0.2\",\"connections\":2,\"cwnd_mean\":27.5,\"cwnd_min\":10,"
                          "\"cwnd_max\":45,\"rtt_mean_us\":300,\"min_rtt_us\":200,\"mss_bytes\":1400,"
                          "\"acked_bytes\":5000000001,\"retrans_segs\":3,"
                          "\"max_delivery_rate_Bps\":9}]",
                          0, NULL);
    assert_true(json_equal(rows, expected));
    json_decref(rows);
    json_decref(expected);
    prefix_table_deinit(&index);
}

TEST(what_nobody_knows_is_null)
{
    struct riptide_sample sample = make_sample("10.0.0.2", 10);
    struct prefix_table index;
    json_t *rows;

    aggregate_init(&index, 1);
    assert_int_equal(aggregate_add(&index, &sample), 0);
    rows = aggregate_to_json(&index);
    assert_true(json_is_null(json_object_get(json_array_get(rows, 0), "rtt_mean_us")));
    assert_true(json_is_integer(json_object_get(json_array_get(rows, 0), "acked_bytes")));
    json_decref(rows);
    prefix_table_deinit(&index);
}

TEST(order)
{
    static const char *const dsts[] = { "2001:db8::1", "10.0.0.10", "192.0.2.1", "10.0.0.9",
                                        "2001:db8::" };
    static const char *const sorted[] = { "10.0.0.9", "10.0.0.10", "192.0.2.1",
                                          "2001:db8::", "2001:db8::1" };
    struct prefix_table index;
    json_t *rows;

    aggregate_init(&index, 1);
    for (size_t i = 0; i < 5; i++) {
        struct riptide_sample sample = make_sample(dsts[i], 10);

        assert_int_equal(aggregate_add(&index, &sample), 0);
    }
    rows = aggregate_to_json(&index);
    assert_int_equal(json_array_size(rows), 5);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(
            json_string_value(json_object_get(json_array_get(rows, i), "dst")), sorted[i]);
    json_decref(rows);
    prefix_table_deinit(&index);
}

/* As after an interrupted dump. */
TEST(cleared_and_used_again)
{
    struct riptide_sample sample = make_sample("10.0.0.2", 10);
    struct prefix_table index;
    json_t *rows;

    aggregate_init(&index, 1);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 1000; i++) {
            sample.dst.addr[2] = (uint8_t)(i % 250);
            assert_int_equal(aggregate_add(&index, &sample), 0);
        }
        rows = aggregate_to_json(&index);
        assert_int_equal(json_array_size(rows), 250);
        assert_int_equal(
            json_integer_value(json_object_get(json_array_get(rows, 7), "connections")), 4);
        json_decref(rows);
        prefix_table_deinit(&index);
    }
}
