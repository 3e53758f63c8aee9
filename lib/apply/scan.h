/* SPDX-License-Identifier: MIT */
/*
 * A look at the kernel: its links, its rules, our routes, and where main's compete. One netlink
 * buffer per step.
 */
#ifndef RIPTIDE_LIB_APPLY_SCAN_H
#define RIPTIDE_LIB_APPLY_SCAN_H

#include "main_table.h"
#include "rule.h"

struct riptide_router;

/* How much a scan looks at. */
enum scan_extent {
    SCAN_NOTHING,
    SCAN_RULES,
    SCAN_MAIN, /* where main's routes compete */
    SCAN_ALL,  /* links, rules, our routes, main */
};

/* Routes of another protocol in our table: our rules would show them to local TCP. */
struct foreign {
    uint32_t n;
    char text[160]; /* the first one, and the remedy */
};

struct scan {
    enum scan_extent extent;
    uint32_t step; /* which dump is under way */
    bool is_running;
    bool is_asked;       /* its request was sent */
    bool is_interrupted; /* a dump was, by changes */
    struct rules rules[2];
    struct main_table main;
    struct foreign foreign[2];
    uint32_t n_same_protocol; /* routes of main with our protocol */
};

void scan_deinit(struct scan *scan);

/* Why our table is not to be looked up in families[i]: the scan's; NULL: it holds ours alone. */
const char *scan_foreign_reason(const struct scan *scan, int i);

/*
 * One piece of a scan, which it begins with that extent where none is running. Returns
 * RIPTIDE_E_DONE at its end, RIPTIDE_E_RESTARTED where changes interrupted a dump: what it found
 * may be incomplete. Errors: those of netlink_dump_step.
 */
int scan_step(struct riptide_router *router, enum scan_extent extent);

#endif
