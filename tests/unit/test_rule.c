/* SPDX-License-Identifier: MIT */
/*
 * lib/apply/rule: rule messages in the order of the kernel's fib_nl_fill_rule, and such that no
 * kernel sends; the place that a host's rules leave for ours.
 */
#include "apply/routes/rule.h"
#include "bytes.h"
#include "internal.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>

enum { TABLE = 7230, WG = 0xca6c };

struct row {
    uint32_t priority;
    uint32_t table;
    uint32_t target; /* goto */
    uint32_t fwmark;
    uint32_t fwmask; /* 0: all bits */
    bool is_ours; /* protocol 230 iif lo ipproto tcp suppress_prefixlength 31 */
    bool is_inverted;
    bool is_suppressing; /* suppress_prefixlength 0 */
    bool is_end;
};

/* In every list: the kernel's first rule and its last. */
#define ROWS(...)                                                                                  \
    (const struct row[])                                                                           \
    {                                                                                              \
        { 0, .table = RT_TABLE_LOCAL }, __VA_ARGS__, { 32767, .table = RT_TABLE_DEFAULT },         \
        {                                                                                          \
            .is_end = true                                                                         \
        }                                                                                          \
    }
#define MAIN_AT(at)                                                                                \
    {                                                                                              \
        (at), .table = RT_TABLE_MAIN                                                               \
    }
#define MAIN MAIN_AT(32766)
#define OURS(at)                                                                                   \
    {                                                                                              \
        (at), TABLE, .is_ours = true                                                               \
    }
#define FOREIGN(at)                                                                                \
    {                                                                                              \
        (at), .table = 100                                                                         \
    }

static void put_rule(struct bytes *bytes, const struct row *row)
{
    const struct fib_rule_hdr header = { .family = AF_INET,
                                         .table = (uint8_t)(row->table < 256 ? row->table
                                                                             : RT_TABLE_COMPAT),
                                         .action = row->target ? FR_ACT_GOTO : FR_ACT_TO_TBL,
                                         .flags = row->is_inverted ? FIB_RULE_INVERT : 0 };

    bytes_begin(bytes, RTM_NEWRULE, &header, sizeof(header));
    bytes_put_u32(bytes, FRA_TABLE, row->table);
    bytes_put_u32(bytes, FRA_SUPPRESS_PREFIXLEN,
                  row->is_ours ? 31 : row->is_suppressing ? 0 : UINT32_MAX);
    bytes_put_u8(bytes, FRA_PROTOCOL, row->is_ours ? OUR_PROTOCOL : RTPROT_KERNEL);
    if (row->is_ours)
        bytes_put(bytes, FRA_IIFNAME, "lo", 3);
    if (row->priority)
        bytes_put_u32(bytes, FRA_PRIORITY, row->priority);
    if (row->fwmark) {
        bytes_put_u32(bytes, FRA_FWMARK, row->fwmark);
        bytes_put_u32(bytes, FRA_FWMASK, row->fwmask ? row->fwmask : UINT32_MAX);
    } else if (row->fwmask) {
        bytes_put_u32(bytes, FRA_FWMASK, row->fwmask);
    }
    if (row->target)
        bytes_put_u32(bytes, FRA_GOTO, row->target);
    if (row->is_ours)
        bytes_put_u8(bytes, FRA_IP_PROTO, IPPROTO_TCP);
}

static struct rule parsed(struct bytes *bytes)
{
    struct rule rule;

    memset(&rule, 0xa5, sizeof(rule));
    assert_int_equal(rule_parse(&rule, bytes_message(bytes)), 0);
    return rule;
}

static struct rule parsed_row(struct row row)
{
    struct bytes bytes;

    put_rule(&bytes, &row);
    return parsed(&bytes);
}

static struct rules rules_of(const struct row *rows)
{
    struct rules rules = { 0 };

    for (; !rows->is_end; rows++) {
        struct bytes bytes;

        put_rule(&bytes, rows);
        assert_int_equal(rules_add(&rules, bytes_message(&bytes)), 0);
    }
    return rules;
}

TEST(figures_of_rules)
{
    struct rule rule = parsed_row((struct row)MAIN);

    assert_int_equal(rule.priority, 32766);
    assert_int_equal(rule.table, RT_TABLE_MAIN);
    assert_int_equal(rule.target, 0);
    assert_true(rule.is_unconditional);
    assert_false(rule.is_ours);

    rule = parsed_row((struct row){ 9, .table = RT_TABLE_MAIN, .is_suppressing = true });
    assert_false(rule.is_unconditional);

    rule = parsed_row((struct row){ 100, .target = 32766, .fwmark = WG });
    assert_int_equal(rule.priority, 100);
    assert_int_equal(rule.table, 0);
    assert_int_equal(rule.target, 32766);
    assert_false(rule.is_unconditional || rule.is_ours);

    rule = parsed_row((struct row)OURS(100));
    assert_int_equal(rule.table, TABLE);
    assert_false(rule.is_unconditional);
    assert_true(rule.is_ours);
}

/* Attributes that narrow or change what a rule does, each appended to one that is complete. */
TEST(every_selector_makes_a_rule_conditional_and_foreign)
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
    static const struct row rows[] = { MAIN, OURS(100) };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        for (size_t j = 0; j < 2; j++) {
            struct bytes bytes;
            struct rule rule;

            put_rule(&bytes, &rows[j]);
            bytes_put(&bytes, cases[i].type, &cases[i].value, cases[i].n);
            rule = parsed(&bytes);
            if (rule.is_unconditional || rule.is_ours)
                fail_msg("attribute %d in rule %zu", cases[i].type, j);
        }
    }
}

TEST(a_rule_is_ours_whatever_its_numbers_but_not_of_a_table_of_the_kernel)
{
    assert_true(parsed_row((struct row){ 9, 7300, .is_ours = true }).is_ours);
    assert_false(parsed_row((struct row){ 9, RT_TABLE_MAIN, .is_ours = true }).is_ours);
}

TEST(messages_that_make_no_sense_are_refused)
{
    static const int types[] = { FRA_TABLE, FRA_PRIORITY, FRA_GOTO, FRA_SUPPRESS_PREFIXLEN,
                                 FRA_SUPPRESS_IFGROUP };
    struct bytes bytes;
    struct rule rule;

    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        for (size_t n = 0; n <= 8; n++) {
            put_rule(&bytes, &(struct row)MAIN);
            bytes_put(&bytes, types[i], "\0\0\0\0\0\0\0", n);
            assert_int_equal(rule_parse(&rule, bytes_message(&bytes)),
                             n == 4 ? 0 : -EBADMSG);
        }
    }
    put_rule(&bytes, &(struct row)MAIN);
    bytes_message(&bytes)->nlmsg_type = RTM_DELRULE;
    assert_int_equal(rule_parse(&rule, bytes_message(&bytes)), -EBADMSG);
}

TEST(a_list_grows_and_a_bad_rule_is_left_out)
{
    struct rules rules = { 0 };
    struct bytes bytes;

    for (uint32_t i = 0; i < 100; i++) {
        put_rule(&bytes, &(struct row){ i + 1, .table = 100 });
        assert_int_equal(rules_add(&rules, bytes_message(&bytes)), 0);
    }
    bytes_put(&bytes, FRA_TABLE, NULL, 0);
    assert_int_equal(rules_add(&rules, bytes_message(&bytes)), -EBADMSG);
    assert_int_equal(rules.n, 100);
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(rules.list[i].priority, i + 1);
    rules_deinit(&rules);
    assert_int_equal(rules.n, 0);
}

static const char no_main[] = "no unconditional rule `lookup main` is there for ours to precede: "
                              "add it, `ip [-6] rule add pref 32766 lookup main`";
static const char before[] =
    "another rule has the priority of `lookup main`, and comes before it: give it a lower one";

static void assert_place(const struct row *rows, uint32_t expected)
{
    CLEANUP(rules_deinit) struct rules rules = rules_of(rows);
    uint32_t priority;
    const char *reason = rules_place(&rules, &priority);

    if (reason)
        fail_msg("%s", reason);
    assert_int_equal(priority, expected);
}

static void assert_no_place(const struct row *rows, const char *expected)
{
    CLEANUP(rules_deinit) struct rules rules = rules_of(rows);
    uint32_t priority;
    const char *reason = rules_place(&rules, &priority);

    assert_non_null(reason);
    assert_string_equal(reason, expected);
    assert_false(rules_has_ours_in_place(&rules, TABLE));
}

static void assert_in_place(const struct row *rows, bool expected)
{
    CLEANUP(rules_deinit) struct rules rules = rules_of(rows);

    assert_int_equal(rules_has_ours_in_place(&rules, TABLE), expected);
}

TEST(place_behind_the_rules_of_a_vpn)
{
    const struct row suppress = { 32764, RT_TABLE_MAIN, .is_suppressing = true };
    const struct row not_marked = { 32765, 51820, .fwmark = WG, .is_inverted = true };

    assert_place(ROWS(suppress, not_marked, MAIN), 32765);
    assert_in_place(ROWS(suppress, not_marked, OURS(32765), MAIN), true);
    assert_in_place(ROWS(suppress, OURS(32764), not_marked, MAIN), false);
    assert_in_place(ROWS(OURS(32763), suppress, not_marked, MAIN), false);
}

TEST(main_may_stand_elsewhere)
{
    assert_place(ROWS(MAIN_AT(500)), 499);
    assert_place(ROWS(MAIN_AT(500), FOREIGN(600)), 499);
    assert_place(ROWS(MAIN_AT(500), MAIN), 499);
    assert_place(ROWS(MAIN_AT(2)), 1);
    assert_no_place(ROWS(MAIN_AT(1)), no_main);
    assert_no_place(ROWS(MAIN_AT(0)), no_main);
    assert_in_place(ROWS(OURS(499), MAIN_AT(500)), true);
    assert_in_place(ROWS(MAIN_AT(500), OURS(32765), MAIN), false);
}

TEST(there_is_no_place_without_an_unconditional_main)
{
    const struct rules none = { 0 };
    const struct row marked = { 32766, RT_TABLE_MAIN, .fwmark = 1 };
    const struct row inverted = { 32766, RT_TABLE_MAIN, .is_inverted = true };
    const struct row suppressing = { 32766, RT_TABLE_MAIN, .is_suppressing = true };
    const struct row of_tcp = { 32766, RT_TABLE_MAIN, .is_ours = true };
    uint32_t priority;

    assert_string_equal(rules_place(&none, &priority), no_main);
    assert_false(rules_has_ours_in_place(&none, TABLE));
    assert_no_place(ROWS(FOREIGN(100)), no_main);
    assert_no_place(ROWS(marked), no_main);
    assert_no_place(ROWS(inverted), no_main);
    assert_no_place(ROWS(suppressing), no_main);
    assert_no_place(ROWS(of_tcp), no_main);
    assert_no_place(ROWS(OURS(32765)), no_main);
    assert_no_place(ROWS(OURS(32765), marked), no_main);
}

TEST(no_foreign_rule_may_stand_between)
{
    assert_place(ROWS(FOREIGN(32765), MAIN), 32765);
    assert_no_place(ROWS(FOREIGN(32766), MAIN), before);
    assert_place(ROWS(MAIN, FOREIGN(32766)), 32765);
    /* Ours will be gone by then. */
}

TEST(ours_stands_once_and_directly_before_main)
{
    const struct row of_another_table = { 100, 7300, .is_ours = true };

    assert_in_place(ROWS(OURS(32765), MAIN), true);
    assert_in_place(ROWS(OURS(100), MAIN), true);
    assert_in_place(ROWS(FOREIGN(100), OURS(100), MAIN), true);
    assert_in_place(ROWS(OURS(32765), MAIN, FOREIGN(32766)), true);
    assert_in_place(ROWS(MAIN), false);
    assert_in_place(ROWS(of_another_table, MAIN), false);
    assert_in_place(ROWS(OURS(99), OURS(100), MAIN), false);
    assert_in_place(ROWS(OURS(100), MAIN, OURS(32766)), false);
    assert_in_place(ROWS(OURS(100), FOREIGN(100), MAIN), false);
    assert_in_place(ROWS(MAIN, OURS(32766)), false);
}

/* The kernel passes over a goto without a target; a rule of ours would become one. */
TEST(ours_are_no_target_of_somebodys_goto)
{
    const char *reason = "a goto of another rule leads to the priority before `lookup main`, where "
                         "ours would be: lead it elsewhere";
    const struct row to_ours = { 999, .target = 32765 };

    assert_no_place(ROWS(to_ours, MAIN), reason);
    assert_no_place(ROWS(to_ours, OURS(32765), MAIN), reason);
}
