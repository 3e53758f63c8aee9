/* SPDX-License-Identifier: MIT */
/*
 * Rules as rows of a table, and as the kernel's messages, for the tests of lib/apply/rule. Include
 * it behind cmocka.h.
 */
#ifndef RIPTIDE_TESTS_RULE_CASE_H
#define RIPTIDE_TESTS_RULE_CASE_H

#include "apply/rule.h"
#include "bytes.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>

enum { TABLE = 7230, MARK = 0x72697074, PROTOCOL = 230, WG = 0xca6c };

static const struct rule_identity identity = { .table = TABLE, .protocol = PROTOCOL, .mark = MARK };

struct row {
    uint32_t priority;
    uint32_t table;
    uint32_t target; /* goto */
    uint32_t fwmark;
    bool is_ours; /* protocol 230 iif lo ipproto tcp */
    bool is_inverted;
    bool is_suppressing; /* suppress_prefixlength 0 */
    bool is_end;
};

/* What stands in every list: the kernel's first rule and its last. */
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
#define SKIP_TO(at, target)                                                                        \
    {                                                                                              \
        (at), 0, (target), MARK, .is_ours = true                                                   \
    }
#define LOOKUP(at)                                                                                 \
    {                                                                                              \
        (at), TABLE, .is_ours = true                                                               \
    }
#define OURS(at) SKIP_TO(at, 32766), LOOKUP(at)
#define FOREIGN(at)                                                                                \
    {                                                                                              \
        (at), .table = 100                                                                         \
    }

#define FOREIGN_GOTO(at)                                                                           \
    {                                                                                              \
        (at), .target = 32766                                                                      \
    }

static inline void put_rule(struct bytes *bytes, const struct row *row)
{
    const struct fib_rule_hdr header = { .family = AF_INET,
                                         .table = (uint8_t)(row->table < 256 ? row->table
                                                                             : RT_TABLE_COMPAT),
                                         .action = row->target ? FR_ACT_GOTO : FR_ACT_TO_TBL,
                                         .flags = row->is_inverted ? FIB_RULE_INVERT : 0 };

    bytes_begin(bytes, RTM_NEWRULE, &header, sizeof(header));
    bytes_put_u32(bytes, FRA_TABLE, row->table);
    bytes_put_u32(bytes, FRA_SUPPRESS_PREFIXLEN, row->is_suppressing ? 0 : UINT32_MAX);
    bytes_put_u8(bytes, FRA_PROTOCOL, row->is_ours ? PROTOCOL : RTPROT_KERNEL);
    if (row->is_ours)
        bytes_put(bytes, FRA_IIFNAME, "lo", 3);
    if (row->priority)
        bytes_put_u32(bytes, FRA_PRIORITY, row->priority);
    if (row->fwmark) {
        bytes_put_u32(bytes, FRA_FWMARK, row->fwmark);
        bytes_put_u32(bytes, FRA_FWMASK, UINT32_MAX);
    }
    if (row->target)
        bytes_put_u32(bytes, FRA_GOTO, row->target);
    if (row->is_ours)
        bytes_put_u8(bytes, FRA_IP_PROTO, IPPROTO_TCP);
}

#endif
