/* SPDX-License-Identifier: MIT */
/* lib/compute/bounds: base windows, and hints by prefix with and without an end. */
#include "estimators.h"
#include "prefix.h"

TEST(hint_with_an_end_lowers_what_others_allow_until_it_ends)
{
    const struct riptide_hint sixty = { prefix("192.0.2.1"), .cwnd_min = 60, .cwnd_max = 60 };
    ESTIMATOR *estimator = estimator_of_policy("paper");

    set_hint(estimator, sixty);
    learn(estimator, 80, 1 * S);
    assert_int_equal(pop(estimator)->cwnd, 60);
    cap(estimator, "192.0.2.0/24", 15, 10 * S);
    assert_int_equal(pop(estimator)->cwnd, 15);
    assert_int_equal(explain(estimator).cwnd_max, 15);
    assert_true(explain(estimator).hint.len == 24);
    assert_true(explain(estimator).may_lower);
    /* Also below the minimum for all. */
    cap(estimator, "192.0.0.0/8", 5, 5 * S);
    assert_int_equal(pop(estimator)->cwnd, 5);
    learn(estimator, 80, 5 * S);
    assert_int_equal(pop(estimator)->cwnd, 15);
    learn(estimator, 80, 10 * S);
    assert_int_equal(pop(estimator)->cwnd, 60);
}

enum { PREFIXES = 60, HINTS = 2 * PREFIXES, DESTINATIONS = 40 };

/* The window where `learned` is what connections say, as the definition has it: by walks over all hints. */
static uint32_t expected_cwnd(const struct riptide_hint hints[HINTS],
                              const struct riptide_prefix *dst, uint32_t learned, uint32_t *maxp)
{
    const struct riptide_hint *kept = NULL;
    uint32_t min = 10, max = 100;

    for (size_t i = 0; i < HINTS; i++) {
        if (hints[i].until_ns == 0 && prefix_contains(&hints[i].dst, dst) &&
            (!kept || hints[i].dst.len > kept->dst.len))
            kept = &hints[i];
    }
    if (kept && kept->cwnd_min > 0)
        min = kept->cwnd_min;
    if (kept && kept->cwnd_max > 0)
        max = kept->cwnd_max;
    for (size_t i = 0; i < HINTS; i++) {
        if (!prefix_contains(&hints[i].dst, dst) || (hints[i].until_ns == 0 && &hints[i] != kept))
            continue;
        if (hints[i].off) {
            *maxp = 0;
            return 0;
        }
        if (hints[i].cwnd_max > 0 && hints[i].cwnd_max < max)
            max = hints[i].cwnd_max;
    }
    *maxp = max;
    learned = learned < min ? min : learned;
    return learned < max ? learned : max;
}

static struct riptide_prefix any_prefix(uint8_t min_len)
{
    bool is_ipv6 = below(2);
    uint8_t bits = is_ipv6 ? 128 : 32;
    struct riptide_prefix dst = { is_ipv6 ? AF_INET6 : AF_INET, bits, { 0x20, 1 } };

    dst.addr[bits / 8 - 1] = (uint8_t)below(256);
    prefix_truncate(&dst, (uint8_t)(min_len < bits ? bits - below(10) : bits));
    if (min_len < bits && below(20) == 0)
        prefix_truncate(&dst, (uint8_t)below(bits));
    return dst;
}

/* Many hints inside each other, which come, are replaced, and go by request or by time. */
TEST(each_destination_has_the_hints_that_contain_it)
{
    struct riptide_hint hints[HINTS] = { 0 }; /* of each prefix one without an end, and one with */
    struct riptide_prefix prefixes[PREFIXES], dsts[DESTINATIONS];
    ESTIMATOR *estimator = ESTIMATOR_WITH("paper", config.history_weight = 0);

    seed_random();
    for (size_t i = 0; i < DESTINATIONS; i++)
        dsts[i] = any_prefix(128);
    /* No two are equal. */
    for (size_t n = 0, i = 0; n < PREFIXES; n += i == n) {
        prefixes[n] = any_prefix(0);
        for (i = 0; !prefix_equal(&prefixes[i], &prefixes[n]);)
            i++;
    }
    for (uint64_t now_s = 1; now_s < 400; now_s++) {
        uint32_t set = below(PREFIXES), removed = below(PREFIXES), learned = 1 + below(500);
        uint32_t slot = 2 * removed + (hints[2 * removed + 1].until_ns > 0); /* an end goes first */
        struct riptide_hint hint = { .dst = prefixes[set],
                                     .cwnd_max = below(10) ? 10 + below(400) : 0,
                                     .off = below(10) == 0 };

        assert_int_equal(riptide_estimator_remove_hint(estimator, &prefixes[removed]),
                         hints[slot].dst.family ? 0 : RIPTIDE_E_UNKNOWN);
        hints[slot] = (struct riptide_hint){ 0 };
        if (below(3) > 0)
            hint.until_ns = (now_s + 1 + below(60)) * S;
        else
            hint.cwnd_min = below(2) * below(400);
        if (riptide_estimator_set_hint(estimator, &hint, NULL) == 0)
            hints[2 * set + (hint.until_ns > 0)] = hint;
        for (size_t i = 0; i < DESTINATIONS; i++)
            add(estimator, (struct riptide_sample){ .dst = dsts[i], .cwnd = learned });
        tick_at(estimator, now_s * S);
        for (size_t i = 0; i < HINTS; i++) {
            if (hints[i].until_ns > 0 && hints[i].until_ns <= now_s * S)
                hints[i] = (struct riptide_hint){ 0 };
        }
        for (size_t i = 0; i < DESTINATIONS; i++) {
            struct riptide_estimate estimate;
            uint32_t max, cwnd = expected_cwnd(hints, &dsts[i], learned, &max);

            assert_int_equal(riptide_estimator_find(estimator, &dsts[i], &estimate), 0);
            assert_int_equal(estimate.cwnd_max, max);
            assert_int_equal(estimate.cwnd, cwnd);
        }
    }
}

TEST(hints_are_refused_by_name_and_bounded_in_number)
{
    ESTIMATOR *estimator = estimator_of_policy("paper");
    struct riptide_hint good = { prefix("192.0.2.1"), .cwnd_max = 20, .until_ns = 10 * S };
    const struct {
        const char *name;
        struct riptide_hint hint;
    } cases[] = {
        { "hint.dst: no prefix; family AF_INET or AF_INET6, no bits after len",
          { .cwnd_max = 20, .until_ns = 10 * S } },
        { "hint.dst: is part of a destination, whose prefix has 64 bits",
          { .dst = prefix("2001:db8::1"), .cwnd_max = 20 } },
        { "hint.cwnd_max: 65536; must be 1 to 65535",
          { .dst = good.dst, .cwnd_max = 65536, .until_ns = 10 * S } },
        { "hint.cwnd_max: 9; below the smallest window, 10", { .dst = good.dst, .cwnd_max = 9 } },
        { "hint.cwnd_min: 101; must be 1 to the largest window, 100",
          { good.dst, .cwnd_min = 101 } },
        { "hint.cwnd_max: 0, and not off", { .dst = good.dst, .until_ns = 10 * S } },
        { "hint.cwnd_min: must be 0",
          { .dst = good.dst, .cwnd_min = 5, .cwnd_max = 20, .until_ns = 10 * S } },
        { "hint.until_ns: has passed", { .dst = good.dst, .cwnd_max = 20, .until_ns = 5 * S } },
    };
    struct riptide_error error;

    estimator->config.prefix_len6 = 64;
    learn(estimator, 100, 5 * S);
    EACH(row, cases) {
        assert_int_equal(riptide_estimator_set_hint(estimator, &row->hint, &error), -EINVAL);
        assert_memory_equal(error.text, row->name, strlen(row->name));
        assert_int_equal(cwnd_of(estimator), 100);
    }
    for (uint32_t i = 0; i < RIPTIDE_MAX_HINTS; i++) {
        good.dst.addr[2] = (uint8_t)(i >> 8);
        good.dst.addr[3] = (uint8_t)i;
        assert_int_equal(riptide_estimator_set_hint(estimator, &good, NULL), 0);
    }
    good.dst.addr[0] = 10;
    assert_int_equal(riptide_estimator_set_hint(estimator, &good, NULL), RIPTIDE_E_FULL);
    assert_int_equal(riptide_estimator_remove_hint(estimator, &good.dst), RIPTIDE_E_UNKNOWN);
}

static const struct riptide_prefix usual = { AF_INET, 32, { 192, 0, 2, 1 } };

#define set_base(estimator, cwnd) riptide_estimator_set_base(estimator, &usual, cwnd)

static void assert_window(struct riptide_estimator *estimator, uint32_t cwnd, bool may_lower)
{
    assert_int_equal(cwnd_of(estimator), cwnd);
    assert_int_equal(explain(estimator).may_lower, may_lower);
    assert_true(explain(estimator).cwnd_max >= cwnd);
}

TEST(base_is_the_least_unless_something_lowers_it)
{
    const struct riptide_hint kept = { .dst = prefix("192.0.2.0/24"), .cwnd_max = 20 };
    ESTIMATOR *estimator = estimator_of_policy("paper");

    learn(estimator, 24, 1 * S);
    assert_window(estimator, 24, false);
    set_base(estimator, 32);
    assert_window(estimator, 32, false);
    assert_int_equal(explain(estimator).base_cwnd, 32);
    /* The bound for all is no reason to take away what its owner gave it. */
    set_base(estimator, 150);
    assert_window(estimator, 150, false);
    set_base(estimator, 32);
    cap(estimator, "192.0.2.1", 28, 10 * S);
    assert_window(estimator, 28, true);
    tick_at(estimator, 10 * S);
    assert_window(estimator, 32, false);
    set_hint(estimator, kept);
    assert_window(estimator, 20, true);
    assert_int_equal(explain(estimator).hint.len, 24);
    assert_int_equal(riptide_estimator_remove_hint(estimator, &kept.dst), 0);
    set_base(estimator, 0);
    assert_window(estimator, 24, false);
}

/* A hint that leaves more than connections get without us is no reason to have none. */
TEST(hint_that_leaves_no_more_than_without_us_is_the_reason)
{
    const struct riptide_hint off = { .dst = prefix("192.0.2.1"), .off = true };
    static const struct {
        uint32_t base, max;
        enum riptide_reason reason;
    } cases[] = {
        { 0, 11, RIPTIDE_REASON_NONE },       { 0, 10, RIPTIDE_REASON_HELD_BACK },
        { 0, 5, RIPTIDE_REASON_HELD_BACK },   { 20, 21, RIPTIDE_REASON_NONE },
        { 20, 20, RIPTIDE_REASON_HELD_BACK },
    };

    EACH(row, cases) {
        ESTIMATOR *estimator = ESTIMATOR_WITH("paper", config.cwnd_max = 24);

        learn(estimator, 40, 1 * S);
        set_base(estimator, row->base);
        assert_row(explain(estimator).reason == RIPTIDE_REASON_NONE);
        cap(estimator, "192.0.2.0/24", row->max, 10 * S);
        assert_row(explain(estimator).reason == row->reason);
        assert_row(cwnd_of(estimator) == row->max);
        set_hint(estimator, off);
        assert_row(explain(estimator).reason == RIPTIDE_REASON_OFF);
    }
}

/* Nor where connections have shown nothing, or had a window that has expired. */
TEST(hint_that_is_off_is_the_reason_before_anything_is_learned)
{
    const struct riptide_hint off = { .dst = prefix("192.0.2.0/24"), .off = true };
    const struct riptide_prefix inside = prefix("192.0.2.1"), outside = prefix("192.0.3.1");
    struct riptide_estimate estimate;
    ESTIMATOR *estimator = estimator_of_policy("paper");

    cap(estimator, "192.0.3.0/24", 10, 10 * S);
    set_hint(estimator, off);
    assert_int_equal(riptide_estimator_find(estimator, &inside, &estimate), 0);
    assert_int_equal(estimate.reason, RIPTIDE_REASON_OFF);
    assert_int_equal(estimate.hint.len, 24);
    assert_true(estimate.cwnd == 0 && estimate.updated_ns == 0);
    assert_memory_equal(&estimate.dst, &inside, sizeof(inside));
    assert_int_equal(riptide_estimator_find(estimator, &outside, &estimate), RIPTIDE_E_UNKNOWN);
    learn(estimator, 40, 1 * S);
    assert_int_equal(explain(estimator).reason, RIPTIDE_REASON_OFF);
    tick_at(estimator, 1000 * S);
    assert_int_equal(explain(estimator).reason, RIPTIDE_REASON_OFF);
    assert_int_equal(riptide_estimator_remove_hint(estimator, &off.dst), 0);
    assert_int_equal(riptide_estimator_find(estimator, &inside, &estimate), RIPTIDE_E_UNKNOWN);
}

TEST(window_below_its_base_is_popped_again_where_that_is_learned)
{
    ESTIMATOR *estimator = estimator_of_policy("paper");
    const struct riptide_estimate *popped;

    learn(estimator, 24, 1 * S);
    cap(estimator, "192.0.2.1", 24, 10 * S);
    popped = pop(estimator);
    assert_true(popped->cwnd == 24 && !popped->may_lower);
    set_base(estimator, 32);
    popped = pop(estimator);
    assert_true(popped->cwnd == 24 && popped->may_lower);
}

/* What their owner gives connections is where they begin; less than it is what fits. */
TEST(base_is_where_careful_begins_and_losses_go_below_it)
{
    ESTIMATOR *estimator = begun(false);

    set_base(estimator, 40);
    assert_int_equal(cwnd_of(estimator), 40);
    flights(estimator, "xxxx30");
    assert_true(explain(estimator).may_lower);
    flights(estimator, "........34");
}

TEST(base_ends_with_its_window)
{
    ESTIMATOR *estimator = estimator_of_policy("paper");
    struct riptide_sample sample = { .dst = prefix("192.0.2.1"), .cwnd = 24 };

    show(estimator, sample, 1 * S);
    set_base(estimator, 40);
    assert_int_equal(pop(estimator)->cwnd, 40);
    sample.closed = true; /* and has sent nothing: an explanation stays */
    show(estimator, sample, 91 * S);
    assert_int_equal(pop(estimator)->cwnd, 0);
    assert_int_equal(explain(estimator).base_cwnd, 0);
    set_base(estimator, 40); /* packets in flight when the window was withdrawn */
    assert_int_equal(explain(estimator).base_cwnd, 0);
    tick_at(estimator, 200 * S);
    set_base(estimator, 40); /* of a destination that is not known */
    tick_at(estimator, 201 * S);
    assert_int_equal(estimator->table.n, 0);
}
