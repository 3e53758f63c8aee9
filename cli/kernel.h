/* SPDX-License-Identifier: MIT */
/*
 * The kernel's clocks, and what the commands read of its routing, in the network namespace of this
 * process, with libmnl. Needs no privilege. Errors: -ENOMEM, those of the kernel.
 */
#ifndef CLI_KERNEL_H
#define CLI_KERNEL_H

#include <riptide/riptide.h>

#include <time.h>

#define NS_PER_S UINT64_C(1000000000)

static inline uint64_t clock_read_ns(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

/* The kernel's own window, segments. */
enum { TEN = 10 };

/* "IPv4 priority 100 lookup 99, IPv6 priority 100 lookup 99": the first of each family. */
enum { KERNEL_RULES_BYTES = 160 };

/* Rules of others before ours, to that table for the peer, or it; 0: all but the kernel's own. */
void kernel_read_rules(uint32_t table, const struct riptide_prefix *peer,
                       char text[KERNEL_RULES_BYTES]);

/* The prefix of that length around an address or a longer one; and whether it is within one. */
struct riptide_prefix cidr_cut(const struct riptide_prefix *prefix, uint8_t len);
bool cidr_contains(const struct riptide_prefix *outer, const struct riptide_prefix *inner);

/* Why a route is left alone for one, and what to do about them. */
#define REASON_OF_RULES "a rule sends it to another table"
#define REMEDY_OF_RULES                                                                            \
    "let that rule match fewer connections (ip rule), or set apply = program, which no rule "      \
    "affects"

/* The route that TCP of this user takes to an address. */
struct kernel_route {
    int error;                   /* -errno where it has none, else 0 */
    struct riptide_prefix match; /* the route's destination */
    bool is_ours;                /* of riptided */
    uint32_t table;
    uint32_t initcwnd; /* segments; 0: not set, connections start with ten */
};

void kernel_find_route(const struct riptide_prefix *peer, struct kernel_route *route);

/*
 * A stream socket to that path, which waits so long for its peer, and the peer's process; 0: not
 * visible. Errors: those of socket(2) and connect(2).
 */
int kernel_connect(const char *path, int timeout_s, int *pidp);

/* A manager of the namespace, as riptide_applier_flush returns it: "process 17". */
const char *kernel_name_process(char text[48], int pid);

#endif
