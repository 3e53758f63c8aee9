/* SPDX-License-Identifier: MIT */
/*
 * lib/apply/rule: rule messages in the order of the kernel's fib_nl_fill_rule, and such that no
 * kernel sends.
 */
#include "apply/rule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "rule_case.h"

static struct rule parsed(struct bytes *bytes)
{
    struct rule rule;

    memset(&rule, 0xa5, sizeof(rule));
    assert_int_equal(rule_parse(&rule, &identity, bytes_message(bytes)), 0);
    return rule;
}

static struct rule parsed_row(struct row row)
{
    struct bytes bytes;

    put_rule(&bytes, &row);
    return parsed(&bytes);
}

static void test_figures_of_rules(void **state)
{
    struct rule rule = parsed_row((struct row)MAIN);

    (void)state;
    assert_int_equal(rule.priority, 32766);
    assert_int_equal(rule.table, RT_TABLE_MAIN);
    assert_int_equal(rule.target, 0);
    assert_int_equal(rule.fwmark, 0);
    assert_int_equal(rule.suppress_prefixlength, -1);
    assert_true(rule.is_unconditional);
    assert_int_equal(rule.role, RULE_FOREIGN);

    rule = parsed_row((struct row){ 9, .table = RT_TABLE_MAIN, .is_suppressing = true });
    assert_int_equal(rule.suppress_prefixlength, 0);
    assert_false(rule.is_unconditional);

    rule = parsed_row((struct row)SKIP_TO(100, 32766));
    assert_int_equal(rule.priority, 100);
    assert_int_equal(rule.table, 0);
    assert_int_equal(rule.target, 32766);
    assert_int_equal(rule.fwmark, MARK);
    assert_false(rule.is_unconditional);
    assert_int_equal(rule.role, RULE_SKIP);

    rule = parsed_row((struct row)LOOKUP(100));
    assert_int_equal(rule.table, TABLE);
    assert_int_equal(rule.protocol, PROTOCOL);
    assert_int_equal(rule.target, 0);
    assert_false(rule.is_unconditional);
    assert_int_equal(rule.role, RULE_LOOKUP);
}

static void test_only_a_lookup_has_a_table(void **state)
{
    struct bytes bytes;

    (void)state;
    for (uint8_t action = 0; action < 16; action++) {
        put_rule(&bytes, &(struct row)MAIN);
        ((struct fib_rule_hdr *)bytes_header(&bytes))->action = action;
        assert_int_equal(parsed(&bytes).table, action == FR_ACT_TO_TBL ? RT_TABLE_MAIN : 0);
        put_rule(&bytes, &(struct row)LOOKUP(100));
        ((struct fib_rule_hdr *)bytes_header(&bytes))->action = action;
        assert_int_equal(parsed(&bytes).role, action == FR_ACT_TO_TBL ? RULE_LOOKUP : RULE_FOREIGN);
    }
}

/* Attributes that narrow or change what a rule does, each appended to one that is complete. */
static void test_every_selector_makes_a_rule_conditional_and_foreign(void **state)
{
    static const struct {
        int type;
        uint32_t value;
        uint8_t n;
    } cases[] = { { FRA_DST, 1, 4 },
                  { FRA_SRC, 1, 4 },
                  { FRA_IIFNAME, 'x', 2 },
                  { FRA_OIFNAME, 'x', 2 },
                  { FRA_FWMASK, 1, 4 },
                  { FRA_FWMARK, 1, 4 },
                  { FRA_FLOW, 1, 4 },
                  { FRA_TUN_ID, 1, 4 },
                  { FRA_SUPPRESS_PREFIXLEN, 0, 4 },
                  { FRA_SUPPRESS_IFGROUP, 7, 4 },
                  { FRA_L3MDEV, 1, 1 },
                  { FRA_UID_RANGE, 0, 4 },
                  { FRA_IP_PROTO, IPPROTO_UDP, 1 },
                  { FRA_SPORT_RANGE, 80, 4 },
                  { FRA_DPORT_RANGE, 80, 4 },
                  { FRA_DPORT_RANGE + 1, 0, 1 }, /* FRA_DSCP */
                  { 99, 0, 0 } };
    static const struct row rows[] = { MAIN, LOOKUP(100), SKIP_TO(100, 32766) };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        for (size_t j = 0; j < 3; j++) {
            struct bytes bytes;
            struct rule rule;

            put_rule(&bytes, &rows[j]);
            bytes_put(&bytes, cases[i].type, &cases[i].value, cases[i].n);
            rule = parsed(&bytes);
            if (rule.is_unconditional || rule.role != RULE_FOREIGN)
                fail_msg("attribute %d in rule %zu", cases[i].type, j);
        }
    }
}

static void test_selectors_of_the_header_count_too(void **state)
{
    static const struct row rows[] = { MAIN, LOOKUP(100), SKIP_TO(100, 32766) };
    static const enum rule_role roles[] = { RULE_FOREIGN, RULE_LOOKUP, RULE_SKIP };
    static const struct fib_rule_hdr selectors[] = {
        { .dst_len = 8 }, { .src_len = 8 }, { .tos = 8 }, { .flags = FIB_RULE_INVERT }
    };

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        for (size_t j = 0; j < 3; j++) {
            struct fib_rule_hdr *header;
            struct bytes bytes;

            put_rule(&bytes, &rows[j]);
            header = bytes_header(&bytes);
            header->dst_len = selectors[i].dst_len;
            header->src_len = selectors[i].src_len;
            header->tos = selectors[i].tos;
            header->flags = selectors[i].flags | FIB_RULE_PERMANENT;
            assert_false(parsed(&bytes).is_unconditional);
            assert_int_equal(parsed(&bytes).role, RULE_FOREIGN);
            /* What is no selector changes nothing. */
            *header = (struct fib_rule_hdr){ .table = header->table,
                                             .action = header->action,
                                             .flags = FIB_RULE_PERMANENT };
            assert_int_equal(parsed(&bytes).is_unconditional, j == 0);
            assert_int_equal(parsed(&bytes).role, roles[j]);
        }
    }
}

static void test_ours_are_ours_by_all_that_they_say(void **state)
{
    struct bytes bytes;
    struct rule rule;

    (void)state;
    put_rule(&bytes, &(struct row)LOOKUP(9));
    bytes_put_u8(&bytes, FRA_PROTOCOL, PROTOCOL + 1);
    assert_int_equal(parsed(&bytes).role, RULE_FOREIGN);
    assert_int_equal(parsed_row((struct row){ 9, .table = TABLE }).role, RULE_FOREIGN);
    assert_int_equal(parsed_row((struct row){ 9, TABLE + 1, .is_ours = true }).role, RULE_FOREIGN);
    assert_int_equal(parsed_row((struct row){ 9, TABLE, 0, MARK, .is_ours = true }).role,
                     RULE_FOREIGN);
    assert_int_equal(parsed_row((struct row){ 9, .target = 32766, .fwmark = MARK }).role,
                     RULE_FOREIGN);
    assert_int_equal(parsed_row((struct row){ 9, 0, 32766, MARK + 1, .is_ours = true }).role,
                     RULE_FOREIGN);
    rule = parsed_row((struct row){ 9, 0, 32766, .is_ours = true });
    assert_int_equal(rule.role, RULE_FOREIGN);
    assert_false(rule.is_unconditional);
}

static void test_half_of_what_ours_say_is_foreign_and_conditional(void **state)
{
    struct bytes bytes;

    (void)state;
    for (int half = 0; half < 2; half++) {
        put_rule(&bytes, &(struct row){ 9, .table = TABLE });
        bytes_put_u8(&bytes, FRA_PROTOCOL, PROTOCOL);
        if (half == 0)
            bytes_put(&bytes, FRA_IIFNAME, "lo", 3);
        else
            bytes_put_u8(&bytes, FRA_IP_PROTO, IPPROTO_TCP);
        assert_int_equal(parsed(&bytes).role, RULE_FOREIGN);
        assert_false(parsed(&bytes).is_unconditional);
    }
}

static void test_messages_that_make_no_sense_are_refused(void **state)
{
    static const int types[] = { FRA_TABLE,           FRA_PRIORITY, FRA_GOTO,
                                 FRA_FWMARK,          FRA_FWMASK,   FRA_SUPPRESS_PREFIXLEN,
                                 FRA_SUPPRESS_IFGROUP };
    struct bytes bytes;
    struct rule rule;

    (void)state;
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        for (size_t n = 0; n <= 8; n++) {
            put_rule(&bytes, &(struct row)MAIN);
            bytes_put(&bytes, types[i], "\0\0\0\0\0\0\0", n);
            assert_int_equal(rule_parse(&rule, &identity, bytes_message(&bytes)),
                             n == 4 ? 0 : -EBADMSG);
        }
    }
    put_rule(&bytes, &(struct row)MAIN);
    bytes_put(&bytes, FRA_PROTOCOL, NULL, 0);
    assert_int_equal(rule_parse(&rule, &identity, bytes_message(&bytes)), -EBADMSG);
    put_rule(&bytes, &(struct row)MAIN);
    bytes_put(&bytes, FRA_IP_PROTO, NULL, 0);
    assert_int_equal(rule_parse(&rule, &identity, bytes_message(&bytes)), -EBADMSG);
    put_rule(&bytes, &(struct row)MAIN);
    bytes_message(&bytes)->nlmsg_type = RTM_DELRULE;
    assert_int_equal(rule_parse(&rule, &identity, bytes_message(&bytes)), -EBADMSG);
}

static bool parses(const struct nlmsghdr *message)
{
    struct rule rule;

    return rule_parse(&rule, &identity, message) == 0;
}

static void test_a_cut_inside_an_attribute_is_refused(void **state)
{
    struct bytes bytes;

    (void)state;
    put_rule(&bytes, &(struct row)SKIP_TO(100, 32766));
    bytes_check_cuts(&bytes, sizeof(struct fib_rule_hdr), parses);
}

static void test_a_list_grows_and_a_bad_rule_is_left_out(void **state)
{
    struct rules rules = { 0 };
    struct bytes bytes;

    (void)state;
    for (uint32_t i = 0; i < 100; i++) {
        put_rule(&bytes, &(struct row){ i + 1, .table = 100 });
        assert_int_equal(rules_add(&rules, &identity, bytes_message(&bytes)), 0);
    }
    bytes_put(&bytes, FRA_TABLE, NULL, 0);
    assert_int_equal(rules_add(&rules, &identity, bytes_message(&bytes)), -EBADMSG);
    assert_int_equal(rules.n, 100);
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(rules.list[i].priority, i + 1);
    rules_deinit(&rules);
    assert_int_equal(rules.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures_of_rules),
        cmocka_unit_test(test_only_a_lookup_has_a_table),
        cmocka_unit_test(test_every_selector_makes_a_rule_conditional_and_foreign),
        cmocka_unit_test(test_selectors_of_the_header_count_too),
        cmocka_unit_test(test_ours_are_ours_by_all_that_they_say),
        cmocka_unit_test(test_half_of_what_ours_say_is_foreign_and_conditional),
        cmocka_unit_test(test_messages_that_make_no_sense_are_refused),
        cmocka_unit_test(test_a_cut_inside_an_attribute_is_refused),
        cmocka_unit_test(test_a_list_grows_and_a_bad_rule_is_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
