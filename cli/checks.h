/* SPDX-License-Identifier: MIT */
/* The findings of riptide doctor. Pure: facts of a host in, findings out. */
#ifndef CLI_CHECKS_H
#define CLI_CHECKS_H

#include "kernel.h"

/* Facts. Numbers of sysctls that cannot be read are -1. */
struct host {
    /* riptided */
    bool is_there; /* a process manages this network namespace */
    int pid;       /* it; 0: not visible */
    int error;     /* -errno of asking --control; 0: it has answered: */
    bool is_well;
    char health[16], reason[256];
    char by[16];      /* the backend in use */
    char why[256];    /* why `auto` chose it; empty: it did not */
    bool not_taken;   /* routes that TCP does not use */
    uint32_t cwnd_max; /* its largest window; unknown: the default */
    /* The kernel */
    struct kernel_left left;
    char before[KERNEL_RULE_BYTES]; /* the rule of another program before ours; empty: none */
    char conflict[256];             /* why routes could not start; empty: they could */
    bool may_write_routes, may_load_program; /* a process of root here */
    bool has_cgroup2;
    long rmem_bytes[3];
    long slow_start_after_idle;
    long fastopen;
    /* systemd-networkd removes others' routes or rules. */
    bool removes_routes, removes_rules;
};

enum kind { PASSED, ADVICE, PROBLEM };

struct finding {
    const char *check;
    enum kind kind;
    char what[384];   /* the finding */
    char remedy[384]; /* what to do; empty: nothing */
};

enum { N_CHECKS = 8 };

/* The n-th check. */
void checks_judge(unsigned int n, const struct host *host, struct finding *finding);

#endif
