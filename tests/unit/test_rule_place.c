/* SPDX-License-Identifier: MIT */
/*
 * lib/apply/rule: the place that a host's rules leave for ours.
 */
#include "apply/rule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "rule_case.h"

static const char no_main[] = "there is no unconditional rule `lookup main` to stand before";
static const char not_below[] = "the rule priority is not below that of `lookup main`";
static const char between[] = "another rule stands between the rule priority and `lookup main`";

static struct rules rules_of(const struct row *rows)
{
    struct rules rules = { 0 };

    for (; !rows->is_end; rows++) {
        struct bytes bytes;

        put_rule(&bytes, rows);
        assert_int_equal(rules_add(&rules, &identity, bytes_message(&bytes)), 0);
    }
    return rules;
}

static void assert_place(const struct row *rows, uint32_t wanted, uint32_t priority,
                         uint32_t main_priority)
{
    struct rules rules = rules_of(rows);
    struct rule_place place;
    const char *reason = rules_place(&rules, wanted, &place);

    if (reason)
        fail_msg("%s", reason);
    assert_int_equal(place.priority, priority);
    assert_int_equal(place.main_priority, main_priority);
    rules_deinit(&rules);
}

static void assert_no_place(const struct row *rows, uint32_t wanted, const char *expected)
{
    struct rules rules = rules_of(rows);
    struct rule_place place;
    const char *reason = rules_place(&rules, wanted, &place);

    assert_non_null(reason);
    assert_string_equal(reason, expected);
    assert_false(rules_has_ours_in_place(&rules));
    rules_deinit(&rules);
}

static void assert_in_place(const struct row *rows, bool expected)
{
    struct rules rules = rules_of(rows);

    assert_int_equal(rules_has_ours_in_place(&rules), expected);
    rules_deinit(&rules);
}

static void test_place_among_the_default_rules(void **state)
{
    (void)state;
    assert_place(ROWS(MAIN), 0, 32765, 32766);
    assert_place(ROWS(MAIN), 100, 100, 32766);
    assert_place(ROWS(MAIN), 32765, 32765, 32766);
    assert_no_place(ROWS(MAIN), 32766, not_below);
    assert_no_place(ROWS(MAIN), 40000, not_below);
    assert_in_place(ROWS(MAIN), false);
}

static void test_place_behind_the_rules_of_a_vpn(void **state)
{
    const struct row suppress = { 32764, RT_TABLE_MAIN, .is_suppressing = true };
    const struct row not_marked = { 32765, 51820, .fwmark = WG, .is_inverted = true };

    (void)state;
    assert_place(ROWS(suppress, not_marked, MAIN), 0, 32765, 32766);
    assert_no_place(ROWS(suppress, not_marked, MAIN), 32764, between);
    assert_in_place(ROWS(suppress, not_marked, OURS(32765), MAIN), true);
    assert_in_place(ROWS(suppress, OURS(32764), not_marked, MAIN), false);
    assert_in_place(ROWS(OURS(32763), suppress, not_marked, MAIN), false);
}

static void test_main_may_stand_elsewhere(void **state)
{
    (void)state;
    assert_place(ROWS(MAIN_AT(500)), 0, 499, 500);
    assert_place(ROWS(MAIN_AT(500), FOREIGN(600)), 0, 499, 500);
    assert_place(ROWS(MAIN_AT(500), MAIN), 0, 499, 500);
    assert_place(ROWS(MAIN_AT(2)), 0, 1, 2);
    assert_no_place(ROWS(MAIN_AT(500)), 500, not_below);
    assert_no_place(ROWS(MAIN_AT(1)), 0, no_main);
    assert_no_place(ROWS(MAIN_AT(0)), 0, no_main);
    assert_in_place(ROWS(SKIP_TO(499, 500), LOOKUP(499), MAIN_AT(500)), true);
    assert_in_place(ROWS(OURS(499), MAIN_AT(500), MAIN), false);
    assert_in_place(ROWS(MAIN_AT(500), OURS(32765), MAIN), false);
}

static void test_there_is_no_place_without_an_unconditional_main(void **state)
{
    const struct rules none = { 0 };
    const struct row marked = { 32766, RT_TABLE_MAIN, .fwmark = 1 };
    const struct row inverted = { 32766, RT_TABLE_MAIN, .is_inverted = true };
    const struct row suppressing = { 32766, RT_TABLE_MAIN, .is_suppressing = true };
    const struct row of_tcp = { 32766, RT_TABLE_MAIN, .is_ours = true };
    struct rule_place place;

    (void)state;
    assert_string_equal(rules_place(&none, 0, &place), no_main);
    assert_false(rules_has_ours_in_place(&none));
    assert_no_place(ROWS(FOREIGN(100)), 0, no_main);
    assert_no_place(ROWS(marked), 0, no_main);
    assert_no_place(ROWS(inverted), 0, no_main);
    assert_no_place(ROWS(suppressing), 0, no_main);
    assert_no_place(ROWS(of_tcp), 0, no_main);
    assert_no_place(ROWS(OURS(32765)), 0, no_main);
    assert_no_place(ROWS(OURS(32765), marked), 0, no_main);
}

static void test_no_foreign_rule_may_stand_between(void **state)
{
    (void)state;
    assert_place(ROWS(FOREIGN(100), MAIN), 100, 100, 32766);
    assert_place(ROWS(FOREIGN(100), MAIN), 101, 101, 32766);
    assert_no_place(ROWS(FOREIGN(100), MAIN), 99, between);
    assert_place(ROWS(FOREIGN(32765), MAIN), 0, 32765, 32766);
    assert_no_place(ROWS(FOREIGN(32766), MAIN), 0, between);
    assert_place(ROWS(MAIN, FOREIGN(32766)), 0, 32765, 32766);
    /* Ours will be gone by then. */
    assert_place(ROWS(OURS(32000), MAIN), 100, 100, 32766);
}

static void test_ours_stand_once_in_order_and_directly_before_main(void **state)
{
    (void)state;
    assert_in_place(ROWS(OURS(32765), MAIN), true);
    assert_in_place(ROWS(OURS(100), MAIN), true);
    assert_in_place(ROWS(FOREIGN(100), OURS(100), MAIN), true);
    assert_in_place(ROWS(OURS(32765), MAIN, FOREIGN(32766)), true);
    assert_in_place(ROWS(LOOKUP(100), SKIP_TO(100, 32766), MAIN), false);
    assert_in_place(ROWS(LOOKUP(100), MAIN), false);
    assert_in_place(ROWS(SKIP_TO(100, 32766), MAIN), false);
    assert_in_place(ROWS(OURS(99), OURS(100), MAIN), false);
    assert_in_place(ROWS(LOOKUP(99), OURS(100), MAIN), false);
    assert_in_place(ROWS(OURS(100), MAIN, LOOKUP(32766)), false);
    assert_in_place(ROWS(OURS(100), FOREIGN(100), MAIN), false);
    assert_in_place(ROWS(SKIP_TO(100, 32766), FOREIGN(100), LOOKUP(100), MAIN), false);
    assert_in_place(ROWS(SKIP_TO(100, 32767), LOOKUP(100), MAIN), false);
    assert_in_place(ROWS(LOOKUP(99), SKIP_TO(100, 32766), FOREIGN(100), MAIN), false);
    assert_in_place(ROWS(SKIP_TO(99, 32766), FOREIGN_GOTO(100), LOOKUP(100), MAIN), false);
    assert_in_place(ROWS(MAIN, OURS(32766)), false);
}

/* The kernel passes over a goto without a target; a rule of ours would become one. */
static void test_ours_are_no_target_of_somebodys_goto(void **state)
{
    const char *reason = "a goto of another rule leads to the rule priority";
    const struct row to_ours = { 999, .target = 32765 };

    (void)state;
    assert_no_place(ROWS(to_ours, MAIN), 0, reason);
    assert_no_place(ROWS(to_ours, OURS(32765), MAIN), 0, reason);
    assert_place(ROWS(to_ours, MAIN), 32764, 32764, 32766);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_place_among_the_default_rules),
        cmocka_unit_test(test_place_behind_the_rules_of_a_vpn),
        cmocka_unit_test(test_main_may_stand_elsewhere),
        cmocka_unit_test(test_there_is_no_place_without_an_unconditional_main),
        cmocka_unit_test(test_no_foreign_rule_may_stand_between),
        cmocka_unit_test(test_ours_stand_once_in_order_and_directly_before_main),
        cmocka_unit_test(test_ours_are_no_target_of_somebodys_goto),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
