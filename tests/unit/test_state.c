/* SPDX-License-Identifier: MIT */
/*
 * State as bytes: a round trip, a restart, a reboot, another host's, and bytes that are refused.
 */
#include "compute/crc32.h"
#include "evidence_case.h"
#include "tools.h"

#include <errno.h>
#include <string.h>

enum { ROOM = 4096 };

/* CLOCK_REALTIME when most tests save: some day in 2026. */
#define SAVED (UINT64_C(1790000000) * S)

static void add_host(struct riptide_estimator *estimator, const char *dst, uint32_t cwnd)
{
    struct riptide_sample sample = { .dst = prefix_of_text(dst), .cwnd = cwnd };

    assert_int_equal(riptide_estimator_add(estimator, &sample), 0);
}

/* 192.0.2.1 with 64 at 100 s, 2001:db8::1 with 33.25 at 110 s, saved at 120 s. */
static size_t save_two(unsigned char bytes[ROOM])
{
    struct riptide_estimator *estimator = estimator_of_policy("paper");
    size_t n;

    add_host(estimator, "192.0.2.1", 64);
    riptide_estimator_tick(estimator, 100 * S);
    for (int i = 0; i < 3; i++)
        add_host(estimator, "2001:db8::1", 33);
    add_host(estimator, "2001:db8::1", 34);
    riptide_estimator_tick(estimator, 110 * S);
    n = riptide_estimator_save(estimator, 120 * S, SAVED, bytes, ROOM);
    riptide_estimator_free(estimator);
    assert_int_equal(n, 40 + 2 * 48 + 4);
    return n;
}

static void restart_begins_where_it_was(void **state)
{
    struct riptide_estimator *estimator = estimator_of_policy("paper");
    const struct riptide_estimate *estimate;
    struct riptide_load_counts counts;
    unsigned char bytes[ROOM];
    size_t n = save_two(bytes);

    (void)state;
    assert_int_equal(
        riptide_estimator_load(estimator, 150 * S, SAVED + 30 * S, bytes, n, &counts, NULL), 0);
    assert_int_equal(counts.loaded, 2);
    assert_int_equal(riptide_estimator_pop(estimator, &estimate), 0);
    assert_int_equal(estimate->cwnd, 64);
    assert_int_equal(riptide_estimator_pop(estimator, &estimate), 0);
    assert_int_equal(estimate->cwnd, 33);
    assert_true(estimate->smoothed == 33.25);
    assert_int_equal(estimate->samples, 4);
    assert_int_equal(estimate->updated_ns, 110 * S);
    assert_int_equal(estimate->expires_ns, 200 * S);
    /* History goes on, and so does the time to live. */
    add_host(estimator, "2001:db8::1", 43);
    riptide_estimator_tick(estimator, 190 * S - 1);
    assert_int_equal(find_host(estimator, "192.0.2.1").cwnd, 64);
    assert_true(find_host(estimator, "2001:db8::1").smoothed == (33.25 + 43) / 2);
    riptide_estimator_tick(estimator, 190 * S);
    assert_int_equal(find_host(estimator, "192.0.2.1").cwnd, 0);
    riptide_estimator_free(estimator);
}

/* The boot clock begins anew: ages lie before its zero. */
static void reboot_keeps_what_has_not_passed(void **state)
{
    struct riptide_estimator *estimator = estimator_of_policy("paper");
    struct riptide_load_counts counts;
    unsigned char bytes[ROOM];
    size_t n = save_two(bytes);

    (void)state;
    /* 192.0.2.1 is 20 + 72 s old, 2001:db8::1 10 + 72 */
    assert_int_equal(
        riptide_estimator_load(estimator, 5 * S, SAVED + 72 * S, bytes, n, &counts, NULL), 0);
    assert_int_equal(counts.loaded, 1);
    assert_int_equal(counts.expired, 1);
    assert_int_equal(find_host(estimator, "2001:db8::1").cwnd, 33);
    assert_int_equal(find_host(estimator, "2001:db8::1").updated_ns, 0);
    assert_int_equal(find_host(estimator, "2001:db8::1").expires_ns, 13 * S);
    riptide_estimator_tick(estimator, 13 * S - 1);
    assert_int_equal(find_host(estimator, "2001:db8::1").cwnd, 33);
    riptide_estimator_tick(estimator, 13 * S);
    assert_int_equal(find_host(estimator, "2001:db8::1").cwnd, 0);
    riptide_estimator_free(estimator);
}

static void state_that_waits_too_long_is_empty(void **state)
{
    struct riptide_estimator *estimator = estimator_of_policy("paper");
    struct riptide_load_counts counts;
    unsigned char bytes[ROOM];
    size_t n = save_two(bytes);

    (void)state;
    assert_int_equal(
        riptide_estimator_load(estimator, 5 * S, SAVED + 80 * S, bytes, n, &counts, NULL), 0);
    assert_int_equal(counts.expired, 2);
    assert_int_equal(riptide_estimator_load(estimator, 5 * S, UINT64_MAX, bytes, n, &counts, NULL),
                     0);
    assert_int_equal(counts.expired, 2);
    riptide_estimator_free(estimator);
}

static void newer_evidence_wins_a_merge(void **state)
{
    struct riptide_estimator *estimator = estimator_of_policy("paper");
    struct riptide_load_counts counts;
    unsigned char bytes[ROOM];
    size_t n = save_two(bytes);

    (void)state;
    /* This host's clock is at 1000 s; by then the two are 40 s and 30 s old. */
    add_host(estimator, "192.0.2.1", 20);
    riptide_estimator_tick(estimator, 961 * S);
    add_host(estimator, "198.51.100.7", 25);
    add_host(estimator, "2001:db8::1", 90);
    riptide_estimator_tick(estimator, 969 * S);
    assert_int_equal(
        riptide_estimator_load(estimator, 1000 * S, SAVED + 20 * S, bytes, n, &counts, NULL), 0);
    assert_int_equal(counts.loaded, 1);
    assert_int_equal(counts.older, 1);
    assert_int_equal(find_host(estimator, "192.0.2.1").cwnd, 20);
    assert_int_equal(find_host(estimator, "2001:db8::1").cwnd, 33);
    assert_int_equal(find_host(estimator, "198.51.100.7").cwnd, 25);
    /* All of them pass in their order. */
    riptide_estimator_tick(estimator, (961 + 90) * S);
    assert_int_equal(find_host(estimator, "192.0.2.1").cwnd, 0);
    assert_int_equal(find_host(estimator, "198.51.100.7").cwnd, 25);
    riptide_estimator_tick(estimator, (969 + 90) * S);
    assert_int_equal(find_host(estimator, "198.51.100.7").cwnd, 0);
    assert_int_equal(find_host(estimator, "2001:db8::1").cwnd, 33);
    riptide_estimator_tick(estimator, (970 + 90) * S);
    assert_int_equal(find_host(estimator, "2001:db8::1").cwnd, 0);
    riptide_estimator_free(estimator);
}

static void replacing_forgets_what_the_state_does_not_name(void **state)
{
    struct riptide_estimator *estimator = estimator_of_policy("paper");
    const struct riptide_estimate *estimate;
    struct riptide_load_counts counts;
    unsigned char bytes[ROOM];
    size_t n = save_two(bytes);

    (void)state;
    add_host(estimator, "192.0.2.1", 80);
    add_host(estimator, "192.0.2.9", 90);
    riptide_estimator_tick(estimator, 125 * S);
    while (riptide_estimator_pop(estimator, &estimate) == 0)
        ;
    assert_int_equal(
        riptide_estimator_replace(estimator, 130 * S, SAVED + 10 * S, bytes, n, &counts, NULL), 0);
    assert_int_equal(counts.loaded, 2);
    assert_int_equal(counts.older, 0);
    assert_int_equal(find_host(estimator, "192.0.2.1").cwnd, 64);
    assert_int_equal(find_host(estimator, "192.0.2.9").cwnd, 0);
    assert_int_equal(riptide_estimator_pop(estimator, &estimate), 0);
    while (estimate->cwnd != 0)
        assert_int_equal(riptide_estimator_pop(estimator, &estimate), 0);
    assert_true(riptide_prefix_equal(&estimate->dst,
                                     &(struct riptide_prefix){ AF_INET, 32, { 192, 0, 2, 9 } }));
    riptide_estimator_free(estimator);
}

static void refused_state_replaces_nothing(void **state)
{
    struct riptide_estimator *estimator = estimator_of_policy("paper");
    unsigned char bytes[ROOM];
    size_t n = save_two(bytes);

    (void)state;
    add_host(estimator, "192.0.2.9", 90);
    riptide_estimator_tick(estimator, 125 * S);
    bytes[n - 1] ^= 1;
    assert_int_equal(
        riptide_estimator_replace(estimator, 130 * S, SAVED + 10 * S, bytes, n, NULL, NULL),
        -EINVAL);
    assert_int_equal(find_host(estimator, "192.0.2.9").cwnd, 90);
    riptide_estimator_free(estimator);
}

/* Of 100 s and 110 s into those of 95, 105 and 115 s. */
static void merged_windows_pass_in_their_order(void **state)
{
    static const char *const ours[] = { "192.0.2.20", "192.0.2.21", "192.0.2.22" };
    static const char *const all[] = { "192.0.2.20", "192.0.2.1", "192.0.2.21", "2001:db8::1",
                                       "192.0.2.22" };
    struct riptide_estimator *estimator = estimator_of_policy("paper");
    unsigned char bytes[ROOM];
    size_t n = save_two(bytes);

    (void)state;
    for (unsigned int i = 0; i < 3; i++) {
        add_host(estimator, ours[i], 50);
        riptide_estimator_tick(estimator, (95 + 10 * i) * S);
    }
    assert_int_equal(riptide_estimator_load(estimator, 120 * S, SAVED, bytes, n, NULL, NULL), 0);
    for (unsigned int i = 0; i < 5; i++) {
        riptide_estimator_tick(estimator, (95 + 90 + 5 * i) * S);
        for (unsigned int j = 0; j < 5; j++)
            assert_int_equal(find_host(estimator, all[j]).cwnd > 0, j > i);
    }
    riptide_estimator_free(estimator);
}

static void bounds_and_groups_are_the_readers(void **state)
{
    struct riptide_estimator_config config = config_of_policy("paper");
    struct riptide_load_counts counts;
    struct riptide_estimator *estimator;
    unsigned char bytes[ROOM];
    size_t n = save_two(bytes);

    (void)state;
    config.cwnd_max = 40;
    config.prefix_len6 = 64;
    config.max_destinations = 1;
    estimator = estimator_of_config(&config);
    riptide_estimator_load(estimator, 150 * S, SAVED, bytes, n, &counts, NULL);
    assert_int_equal(counts.loaded, 1);
    assert_int_equal(counts.regrouped, 1);
    assert_int_equal(find_host(estimator, "192.0.2.1").cwnd, 40);
    riptide_estimator_free(estimator);

    config.prefix_len6 = 128;
    estimator = estimator_of_config(&config);
    riptide_estimator_load(estimator, 150 * S, SAVED, bytes, n, &counts, NULL);
    assert_int_equal(counts.loaded, 1);
    assert_int_equal(counts.overflow, 1);
    riptide_estimator_free(estimator);
}

static void assert_refused(const unsigned char *bytes, size_t n, uint64_t realtime_ns,
                           const char *line)
{
    struct riptide_estimator *estimator = estimator_of_policy("paper");
    const struct riptide_estimate *estimate;
    struct riptide_error error = { .text = "" };

    assert_int_equal(
        riptide_estimator_load(estimator, 200 * S, realtime_ns, bytes, n, NULL, &error), -EINVAL);
    assert_string_equal(error.text, line);
    assert_int_equal(riptide_estimator_pop(estimator, &estimate), RIPTIDE_E_AGAIN);
    riptide_estimator_free(estimator);
}

static void other_bytes_are_refused_with_a_line(void **state)
{
    unsigned char bytes[ROOM];
    size_t n = save_two(bytes);

    (void)state;
    assert_refused(bytes, 0, SAVED, "state: foreign, it does not begin as a state of riptide does");
    assert_refused((const unsigned char *)"#!/bin/sh\n", 10, SAVED,
                   "state: foreign, it does not begin as a state of riptide does");
    assert_refused(bytes, 43, SAVED, "state: truncated, 43 bytes hold no head");
    assert_refused(bytes, n - 1, SAVED, "state: truncated, 139 bytes where its head says 140");
    assert_refused(bytes, n + 1, SAVED, "state: damaged, 141 bytes where its head says 140");
    assert_refused(bytes, n, SAVED - 11 * S, "state: from the future, 11 s ahead of this clock");
    bytes[60]++;
    assert_refused(bytes, n, SAVED, "state: damaged, its checksum is wrong");
    bytes[60]--;
    bytes[8] = 2;
    assert_refused(bytes, n, SAVED, "state: of version 2; this library reads version 1");
}

static void every_flipped_bit_is_refused(void **state)
{
    struct riptide_estimator *estimator = estimator_of_policy("paper");
    unsigned char bytes[ROOM];
    size_t n = save_two(bytes);

    (void)state;
    for (size_t bit = 0; bit < 8 * n; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_int_equal(riptide_estimator_load(estimator, S, SAVED, bytes, n, NULL, NULL),
                         -EINVAL);
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    assert_int_equal(riptide_estimator_load(estimator, S, SAVED, bytes, n, NULL, NULL), 0);
    riptide_estimator_free(estimator);
}

static void another_policy_is_refused(void **state)
{
    struct riptide_estimator *estimator = estimator_of_policy("careful");
    struct riptide_error error;
    unsigned char bytes[ROOM];
    size_t n = save_two(bytes);

    (void)state;
    assert_int_equal(riptide_estimator_load(estimator, S, SAVED, bytes, n, NULL, &error), -EINVAL);
    assert_string_equal(error.text, "state: of policy paper; ours is careful");
    riptide_estimator_free(estimator);
}

static void careful_goes_on_from_its_window(void **state)
{
    struct riptide_estimator_config config = config_of_policy("careful");
    struct riptide_estimator *estimator = estimator_of_config(&config);
    struct riptide_sample path = busy(160);
    struct riptide_sample flight = path;
    unsigned char bytes[ROOM];
    size_t n;

    (void)state;
    riptide_estimator_add(estimator, &path);
    riptide_estimator_tick(estimator, 9 * S);
    flight.data_segs_out = cwnd_of(estimator); /* fits: the next may be twice that */
    flight.closed = true;
    riptide_estimator_add(estimator, &flight);
    riptide_estimator_tick(estimator, 10 * S);
    assert_int_equal(cwnd_of(estimator), 48);
    n = riptide_estimator_save(estimator, 10 * S, SAVED, bytes, sizeof(bytes));
    riptide_estimator_free(estimator);

    estimator = estimator_of_config(&config);
    assert_int_equal(riptide_estimator_load(estimator, 20 * S, SAVED + 5 * S, bytes, n, NULL, NULL),
                     0);
    assert_int_equal(cwnd_of(estimator), 48);
    riptide_estimator_add(estimator, &path);
    riptide_estimator_tick(estimator, 21 * S);
    assert_int_equal(cwnd_of(estimator), 48);
    riptide_estimator_free(estimator);
}

/* What is kept is the window without the scale, which halves it once, not with each restart. */
static void scale_is_applied_once(void **state)
{
    const struct riptide_override half = { .dst = prefix_of_text("192.0.2.0/24"), .scale = 0.5 };
    struct riptide_estimator_config config = config_of_policy("careful");
    struct riptide_sample path = busy(160);
    struct riptide_estimator *estimator;
    unsigned char bytes[ROOM];
    size_t n = 0;

    (void)state;
    config.overrides = &half;
    config.n_overrides = 1;
    for (uint64_t t = 10; t < 15; t++) {
        estimator = estimator_of_config(&config);
        if (n > 0)
            assert_int_equal(
                riptide_estimator_load(estimator, t * S, SAVED, bytes, n, NULL, NULL), 0);
        riptide_estimator_add(estimator, &path);
        riptide_estimator_tick(estimator, t * S);
        assert_int_equal(cwnd_of(estimator), 12);
        n = riptide_estimator_save(estimator, t * S, SAVED, bytes, sizeof(bytes));
        riptide_estimator_free(estimator);
    }
}

static void checksum_is_the_well_known_one(void **state)
{
    (void)state;
    /* The check value of CRC-32/ISO-HDLC in every catalogue of CRCs. */
    assert_int_equal(crc32((const unsigned char *)"123456789", 9), 0xcbf43926);
}

static void room_is_asked_for(void **state)
{
    struct riptide_estimator *estimator = estimator_of_policy("paper");
    unsigned char bytes[100] = { 0 };

    (void)state;
    add_host(estimator, "192.0.2.1", 20);
    riptide_estimator_tick(estimator, S);
    assert_int_equal(riptide_estimator_save(estimator, S, SAVED, NULL, 0), 92);
    assert_int_equal(riptide_estimator_save(estimator, S, SAVED, bytes, 91), 92);
    assert_int_equal(bytes[0], 0);
    assert_int_equal(riptide_estimator_save(estimator, S, SAVED, bytes, 100), 92);
    assert_memory_equal(bytes, "riptide\n", 8);
    assert_int_equal(riptide_estimator_load(estimator, S - 1, SAVED, bytes, 92, NULL, NULL),
                     RIPTIDE_E_INVALID);
    riptide_estimator_free(estimator);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(restart_begins_where_it_was),
        cmocka_unit_test(reboot_keeps_what_has_not_passed),
        cmocka_unit_test(state_that_waits_too_long_is_empty),
        cmocka_unit_test(newer_evidence_wins_a_merge),
        cmocka_unit_test(replacing_forgets_what_the_state_does_not_name),
        cmocka_unit_test(refused_state_replaces_nothing),
        cmocka_unit_test(merged_windows_pass_in_their_order),
        cmocka_unit_test(bounds_and_groups_are_the_readers),
        cmocka_unit_test(other_bytes_are_refused_with_a_line),
        cmocka_unit_test(every_flipped_bit_is_refused),
        cmocka_unit_test(another_policy_is_refused),
        cmocka_unit_test(careful_goes_on_from_its_window),
        cmocka_unit_test(scale_is_applied_once),
        cmocka_unit_test(checksum_is_the_well_known_one),
        cmocka_unit_test(room_is_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
