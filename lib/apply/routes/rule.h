/* SPDX-License-Identifier: MIT */
/* Policy rules, and the place for ours. Pure: rule messages in; a place or a reason out. */
#ifndef RIPTIDE_LIB_APPLY_RULE_H
#define RIPTIDE_LIB_APPLY_RULE_H

#include <linux/netlink.h>
#include <riptide/riptide.h>

/*
 * Ours are two of one priority, for TCP of this host alone (iif lo ipproto tcp):
 *
 *     fwmark MARK goto MAIN's priority     queries with our mark skip our table
 *     lookup TABLE
 *
 * One rule `not fwmark MARK ...` would not do: `not` inverts all conditions of a rule together, so
 * it matches every packet except marked local TCP (fib_rule_match in net/core/fib_rules.c).
 */
enum rule_role { RULE_FOREIGN, RULE_SKIP, RULE_LOOKUP };

struct rule {
    uint8_t family; /* AF_INET or AF_INET6 */
    uint8_t protocol;
    bool is_unconditional; /* it matches every packet */
    bool is_inverted;      /* it matches what its conditions do not */
    enum rule_role shape;  /* whatever its numbers, */
    enum rule_role role;   /* and by our numbers as well */
    uint32_t priority;
    uint32_t table;  /* 0: no lookup (goto, blackhole, ...) */
    uint32_t target; /* priority to which a goto leads; 0: no goto */
    uint32_t mark;   /* with `mask`: the marks that it matches; mask 0: any */
    uint32_t mask;
    /* Its lookup ignores routes to prefixes of at most this length; -1: ignores none. */
    int32_t suppress_prefixlength;
};

/* The numbers of our rules and routes. */
struct rule_identity {
    uint32_t table;
    uint32_t mark;
    uint8_t protocol;
};

/* The rules of one family or several, in the kernel's order. */
struct rules {
    struct rule *list;
    uint32_t n;
    uint32_t capacity;
};

/* Errors: -EBADMSG, a malformed message. */
int rule_parse(struct rule *rule, const struct rule_identity *identity,
               const struct nlmsghdr *message);

/* Adds the rule of a message. Errors: -EBADMSG, -ENOMEM. */
int rules_add(struct rules *rules, const struct rule_identity *identity,
              const struct nlmsghdr *message);

void rules_deinit(struct rules *rules);

/*
 * Whether one of these rules is ours, by its numbers or as one of a pair by shape, of one family,
 * priority and protocol: no other program has a use for such a pair.
 */
bool rule_is_ours(const struct rule *rule, const struct rules *rules);

/* Whether all but our two match every packet: then a query with our mark and one without agree. */
bool rules_are_unconditional(const struct rules *rules);

/*
 * Why queries with that mark and without may have different answers. Returns whether a rule of
 * another program, which the text names, is the reason.
 */
bool rules_explain_mark(const struct rules *rules, uint32_t mark, char *text, size_t size);

/* The place for our rules. */
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

/* Whether each of ours exists once, in order, directly before the unconditional `lookup main`. */
bool rules_has_ours_in_place(const struct rules *rules);

#endif
