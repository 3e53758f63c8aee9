/* SPDX-License-Identifier: MIT */
/*
 * lib/apply/rule: rule messages in the order of the kernel's fib_nl_fill_rule, and such that no
 * kernel sends; the place that a host's rules leave for ours.
 */
#include "apply/routes/rule.h"
#include "bytes.h"
#include "internal.h"

#include <linux/fib_rules.h>
#include <netinet/in.h>

enum { TABLE = 7230, OTHER_TABLE = 7300 };

/*
 * A rule as text: a letter and its priority. M: lookup main; m: main for a mark, i: all but a mark,
 * s: all but its default route, t: by our shape; O: ours, o: ours of another table; f: lookup 100,
 * i.e. of somebody else; g: a goto to the priority before main.
 */
static void put_rule(struct bytes *bytes, char kind, uint32_t priority)
{
    bool is_ours = strchr("Oot", kind), is_main = strchr("Mmist", kind);
    uint32_t table = kind == 'g'   ? 0
                     : is_main     ? RT_TABLE_MAIN
                     : kind == 'O' ? TABLE
                     : kind == 'o' ? OTHER_TABLE
                                   : 100;
    const struct fib_rule_hdr header = { .family = AF_INET,
                                         .table = (uint8_t)(table < 256 ? table : RT_TABLE_COMPAT),
                                         .action = kind == 'g' ? FR_ACT_GOTO : FR_ACT_TO_TBL,
                                         .flags = kind == 'i' ? FIB_RULE_INVERT : 0 };

    bytes_begin(bytes, RTM_NEWRULE, &header, sizeof(header));
    bytes_put_u32(bytes, FRA_TABLE, table);
    bytes_put_u32(bytes, FRA_SUPPRESS_PREFIXLEN, is_ours ? 31 : kind == 's' ? 0 : UINT32_MAX);
    bytes_put_u8(bytes, FRA_PROTOCOL, is_ours ? OUR_PROTOCOL : RTPROT_KERNEL);
    if (is_ours)
        bytes_put(bytes, FRA_IIFNAME, "lo", 3);
    if (priority)
        bytes_put_u32(bytes, FRA_PRIORITY, priority);
    if (kind == 'm' || kind == 'i') {
        bytes_put_u32(bytes, FRA_FWMARK, 0xca6c);
        bytes_put_u32(bytes, FRA_FWMASK, UINT32_MAX);
    }
    if (kind == 'g')
        bytes_put_u32(bytes, FRA_GOTO, 32765);
    if (is_ours)
        bytes_put_u8(bytes, FRA_IP_PROTO, IPPROTO_TCP);
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

    EACH(row, cases) {
        for (const char *kind = "MO"; *kind; kind++) {
            struct rule rule;
            struct bytes bytes;

            put_rule(&bytes, *kind, 100);
            bytes_put(&bytes, row->type, &row->value, row->n);
            memset(&rule, 0xa5, sizeof(rule));
            assert_int_equal(rule_parse(&rule, bytes_message(&bytes)), 0);
            assert_row(!rule.is_unconditional && !rule.is_ours);
        }
    }
}

TEST(messages_that_make_no_sense_are_refused)
{
    static const int types[] = { FRA_TABLE, FRA_PRIORITY, FRA_GOTO, FRA_SUPPRESS_PREFIXLEN };
    CLEANUP(rules_deinit) struct rules rules = { 0 };
    struct bytes bytes;

    EACH(row, types) {
        for (size_t n = 0; n <= 8; n++) {
            put_rule(&bytes, 'M', 32766);
            bytes_put(&bytes, *row, "\0\0\0\0\0\0\0", n);
            assert_int_equal(rules_add(&rules, bytes_message(&bytes)), n == 4 ? 0 : -EBADMSG);
        }
    }
    put_rule(&bytes, 'M', 32766);
    bytes_message(&bytes)->nlmsg_type = RTM_DELRULE;
    assert_int_equal(rules_add(&rules, bytes_message(&bytes)), -EBADMSG);
    assert_int_equal(rules.n, COUNT(types));
}

/* Between the kernel's first rule and its last. */
TEST(place_is_directly_before_main_and_is_kept)
{
    static const struct {
        const char *rules;
        uint32_t priority;
        enum riptide_reason reason;
        bool is_in_place;
    } cases[] = {
        /* a VPN's */
        { "s32764 i32765 M32766", 32765, RIPTIDE_REASON_NONE, false },
        { "s32764 i32765 O32765 M32766", 32765, RIPTIDE_REASON_NONE, true },
        { "s32764 O32764 i32765 M32766", 32765, RIPTIDE_REASON_NONE, false },
        { "O32763 s32764 i32765 M32766", 32765, RIPTIDE_REASON_NONE, false },
        /* main elsewhere */
        { "M500", 499, RIPTIDE_REASON_NONE, false },
        { "M500 M32766", 499, RIPTIDE_REASON_NONE, false },
        { "M2", 1, RIPTIDE_REASON_NONE, false },
        { "M1", 0, RIPTIDE_REASON_NO_PRIORITY, false },
        { "M1 M32766", 0, RIPTIDE_REASON_NO_PRIORITY, false },
        { "O499 M500", 499, RIPTIDE_REASON_NONE, true },
        { "M500 O32765 M32766", 499, RIPTIDE_REASON_NONE, false },
        /* no unconditional main */
        { "", 0, RIPTIDE_REASON_NO_RULE_OF_MAIN, false },
        { "m32766", 0, RIPTIDE_REASON_NO_RULE_OF_MAIN, false },
        { "i32766", 0, RIPTIDE_REASON_NO_RULE_OF_MAIN, false },
        { "s32766", 0, RIPTIDE_REASON_NO_RULE_OF_MAIN, false },
        { "t32766", 0, RIPTIDE_REASON_NO_RULE_OF_MAIN, false },
        { "O32765", 0, RIPTIDE_REASON_NO_RULE_OF_MAIN, false },
        /* somebody else's between */
        { "f32765 M32766", 32765, RIPTIDE_REASON_NONE, false },
        { "f32766 M32766", 0, RIPTIDE_REASON_PRIORITY_IN_USE, false },
        { "M32766 f32766", 32765, RIPTIDE_REASON_NONE, false },
        /* the kernel passes over a goto without a target; ours would become one */
        { "g999 M32766", 0, RIPTIDE_REASON_GOTO, false },
        /* ours once, and of this table */
        { "O32765 M32766", 32765, RIPTIDE_REASON_NONE, true },
        { "O100 M32766", 32765, RIPTIDE_REASON_NONE, true },
        { "f100 O100 M32766", 32765, RIPTIDE_REASON_NONE, true },
        { "O32765 M32766 f32766", 32765, RIPTIDE_REASON_NONE, true },
        { "o100 M32766", 32765, RIPTIDE_REASON_NONE, false },
        { "O99 O100 M32766", 32765, RIPTIDE_REASON_NONE, false },
        { "O100 M32766 O32766", 32765, RIPTIDE_REASON_NONE, false },
        { "O100 f100 M32766", 32765, RIPTIDE_REASON_NONE, false },
        { "M32766 O32766", 32765, RIPTIDE_REASON_NONE, false },
        { "O32766 M32766", 32765, RIPTIDE_REASON_NONE, true },
    };

    EACH(row, cases) {
        CLEANUP(rules_deinit) struct rules rules = { 0 };
        const char *at = row->rules;
        uint32_t priority = 0;
        struct bytes bytes;
        int n;

        put_rule(&bytes, 'f', 0);
        assert_int_equal(rules_add(&rules, bytes_message(&bytes)), 0);
        for (char kind; sscanf(at, " %c%u%n", &kind, &priority, &n) == 2; at += n) {
            put_rule(&bytes, kind, priority);
            assert_int_equal(rules_add(&rules, bytes_message(&bytes)), 0);
        }
        put_rule(&bytes, 'f', 32767);
        assert_int_equal(rules_add(&rules, bytes_message(&bytes)), 0);
        assert_row(rules_place(&rules, &priority) == row->reason);
        assert_row(row->reason || priority == row->priority);
        assert_row(rules_has_ours_in_place(&rules, TABLE) == row->is_in_place);
    }
}
