/* SPDX-License-Identifier: MIT */
/*
 * Policy rules: where ours may stand. Pure: rule messages in, a place or the reason why there is
 * none out.
 */
#ifndef RIPTIDE_LIB_APPLY_RULE_H
#define RIPTIDE_LIB_APPLY_RULE_H

#include <linux/netlink.h>
#include <riptide/riptide.h>

/*
 * Ours are two of one priority, for TCP of this host alone (iif lo ipproto tcp):
 *
 *     fwmark MARK goto MAIN's priority     queries with our mark see the kernel without us
 *     lookup TABLE
 *
 * One rule `not fwmark MARK ...` would not do: `not` inverts all that stands in a rule, so that it
 * takes every packet but marked local TCP (fib_rule_match in net/core/fib_rules.c).
 */
enum rule_role { RULE_FOREIGN, RULE_SKIP, RULE_LOOKUP };

struct rule {
    uint8_t family; /* AF_INET or AF_INET6 */
    uint8_t protocol;
    bool is_unconditional; /* every packet that reaches it takes it */
    enum rule_role role;
    uint32_t priority;
    uint32_t table;  /* 0: no lookup (goto, blackhole, ...) */
    uint32_t target; /* priority that a goto leads to; 0: no goto */
    uint32_t mark;   /* 0: none */
    /* Its lookup passes over routes to prefixes of at most these bits; -1: over none. */
    int32_t suppress_prefixlength;
};

/* What makes rules ours. */
struct rule_identity {
    uint32_t table;
    uint8_t protocol; /* 0: whichever */
    uint32_t mark;    /* 0: whichever */
};

/* The rules of one family in the order in which the kernel follows them. */
struct rules {
    struct rule *list;
    uint32_t n;
    uint32_t capacity;
};

/* Errors: -EBADMSG where the message is not the rule that it claims to be. */
int rule_parse(struct rule *rule, const struct rule_identity *identity,
               const struct nlmsghdr *message);

/* Adds the rule of a message. Errors: -EBADMSG, -ENOMEM. */
int rules_add(struct rules *rules, const struct rule_identity *identity,
              const struct nlmsghdr *message);

void rules_deinit(struct rules *rules);

/*
 * Whether they treat all packets alike but for our own two: then a query with our mark says as much
 * as one without.
 */
bool rules_are_unconditional(const struct rules *rules);

/* Where our rules go. */
struct rule_place {
    uint32_t priority;
    uint32_t main_priority; /* of the unconditional `lookup main` */
};

/*
 * The priority that puts new rules directly before the unconditional `lookup main`: `wanted`, or
 * one below main's where wanted is 0. Our own rules do not count.
 * Returns NULL, or the reason (static storage) why there is no such priority.
 */
const char *rules_place(const struct rules *rules, uint32_t wanted, struct rule_place *place);

/* Whether ours are there once, in order, and directly before the unconditional `lookup main`. */
bool rules_has_ours_in_place(const struct rules *rules);

#endif
