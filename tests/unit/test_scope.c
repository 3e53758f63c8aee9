/* SPDX-License-Identifier: MIT */
/*
 * lib/observe/scope: which connections a scope asks for.
 */
#include "tools.h"

#include <riptide/observe.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct riptide_prefix prefix(const char *text)
{
    struct riptide_prefix parsed;

    assert_int_equal(riptide_prefix_parse(&parsed, text), 0);
    return parsed;
}

static bool matches(const struct riptide_scope *scope, const char *address)
{
    struct riptide_sample sample = { .dst = prefix(address) };

    return riptide_scope_matches(scope, &sample);
}

static void test_empty_scope_takes_everything(void **state)
{
    struct riptide_scope scope = { 0 };

    (void)state;
    assert_true(matches(&scope, "203.0.113.7"));
    assert_true(matches(&scope, "2001:db8::1"));
}

static void test_empty_learn_takes_all_but_excluded(void **state)
{
    struct riptide_prefix exclude[] = { prefix("203.0.113.0/24"), prefix("2001:db8::/32") };
    struct riptide_scope scope = { .exclude = exclude, .n_exclude = 2 };

    (void)state;
    assert_false(matches(&scope, "203.0.113.7"));
    assert_true(matches(&scope, "203.0.114.7"));
    assert_false(matches(&scope, "2001:db8::1"));
    assert_true(matches(&scope, "2001:db9::1"));
}

static void test_learn_takes_nothing_else(void **state)
{
    struct riptide_prefix learn[] = { prefix("203.0.113.0/24"), prefix("2001:db8::/32") };
    struct riptide_scope scope = { .learn = learn, .n_learn = 2 };

    (void)state;
    assert_true(matches(&scope, "203.0.113.7"));
    assert_false(matches(&scope, "203.0.112.255"));
    assert_true(matches(&scope, "2001:db8:ffff::1"));
    assert_false(matches(&scope, "2001:db7::1"));
}

static void test_longest_prefix_decides(void **state)
{
    struct riptide_prefix learn[] = { prefix("10.0.0.0/8"), prefix("10.1.2.0/24") };
    struct riptide_prefix exclude[] = { prefix("10.1.2.3"), prefix("10.1.0.0/16") };
    struct riptide_scope scope = {
        .learn = learn, .n_learn = 2, .exclude = exclude, .n_exclude = 2
    };

    (void)state;
    assert_true(matches(&scope, "10.2.0.1"));  /* learn /8 */
    assert_false(matches(&scope, "10.1.0.1")); /* exclude /16 within it */
    assert_true(matches(&scope, "10.1.2.1"));  /* learn /24 within that */
    assert_false(matches(&scope, "10.1.2.3")); /* exclude /32 within that */
    assert_false(matches(&scope, "11.0.0.1")); /* none */
}

static void test_exclude_wins_at_equal_length(void **state)
{
    struct riptide_prefix both[] = { prefix("10.0.0.0/8"), prefix("2001:db8::/32") };
    struct riptide_scope scope = { .learn = both, .n_learn = 2, .exclude = both, .n_exclude = 2 };

    (void)state;
    assert_false(matches(&scope, "10.0.0.1"));
    assert_false(matches(&scope, "2001:db8::1"));
}

static void test_families_do_not_mix(void **state)
{
    struct riptide_prefix learn[] = { prefix("0.0.0.0/0") };
    struct riptide_prefix exclude[] = { prefix("::/0") };
    struct riptide_scope only4 = { .learn = learn, .n_learn = 1 };
    struct riptide_scope no6 = { .exclude = exclude, .n_exclude = 1 };

    (void)state;
    assert_true(matches(&only4, "10.0.0.1"));
    assert_false(matches(&only4, "2001:db8::1"));
    assert_true(matches(&no6, "10.0.0.1"));
    assert_false(matches(&no6, "2001:db8::1"));
}

static void test_a_prefix_is_judged_as_a_whole(void **state)
{
    struct riptide_prefix learn[] = { prefix("10.0.0.0/16") };
    struct riptide_scope scope = { .learn = learn, .n_learn = 1 };

    (void)state;
    assert_true(matches(&scope, "10.0.0.0/16"));
    assert_true(matches(&scope, "10.0.1.0/24"));
    assert_false(matches(&scope, "10.0.0.0/15"));
}

/* A sample that meets all of this, and what it is without one of them. */
static void test_ports_mark_and_interface_all_count(void **state)
{
    struct riptide_port_range local[] = { { 443, 443 }, { 8000, 8010 } };
    struct riptide_port_range remote[] = { { 1024, 65535 } };
    struct riptide_scope scope = {
        .local_ports = local,
        .n_local_ports = 2,
        .remote_ports = remote,
        .n_remote_ports = 1,
        .mark = 0x10,
        .mark_mask = 0xf0,
        .ifindex = 3,
    };
    struct riptide_sample good = { .dst = prefix("192.0.2.1"),
                                   .local_port = 8010,
                                   .remote_port = 1024,
                                   .ifindex = 3,
                                   .mark = 0x1f,
                                   .has_mark = true };
    struct riptide_sample bad[5] = { good, good, good, good, good };

    (void)state;
    assert_true(riptide_scope_matches(&scope, &good));
    bad[0].local_port = 8011;
    bad[1].remote_port = 1023;
    bad[2].mark = 0x20;
    bad[3].has_mark = false;
    bad[4].ifindex = 0;
    for (int i = 0; i < 5; i++)
        assert_false(riptide_scope_matches(&scope, &bad[i]));
}

/* No array that is not there is read. */
static void test_counts_without_arrays_match_nothing(void **state)
{
    const struct riptide_scope scopes[] = {
        { .n_learn = 1 }, { .n_exclude = 1 }, { .n_local_ports = 1 }, { .n_remote_ports = 1 }
    };

    (void)state;
    for (size_t i = 0; i < sizeof(scopes) / sizeof(scopes[0]); i++)
        assert_false(matches(&scopes[i], "203.0.113.7"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty_scope_takes_everything),
        cmocka_unit_test(test_empty_learn_takes_all_but_excluded),
        cmocka_unit_test(test_learn_takes_nothing_else),
        cmocka_unit_test(test_longest_prefix_decides),
        cmocka_unit_test(test_exclude_wins_at_equal_length),
        cmocka_unit_test(test_families_do_not_mix),
        cmocka_unit_test(test_a_prefix_is_judged_as_a_whole),
        cmocka_unit_test(test_ports_mark_and_interface_all_count),
        cmocka_unit_test(test_counts_without_arrays_match_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
