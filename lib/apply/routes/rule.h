/* SPDX-License-Identifier: MIT */
/* The host's rules, and the place of ours among them. Pure except for memory. */
#ifndef RIPTIDE_LIB_APPLY_RULE_H
#define RIPTIDE_LIB_APPLY_RULE_H

#include "apply/routes/message.h"

/*
 * Ours is one for each family, directly before `lookup main`, for TCP of this host alone:
 *
 *     iif lo ipproto tcp lookup TABLE suppress_prefixlength 31    (IPv6: 127)
 *
 * A query of another protocol passes it by: the kernel answers it as if we were not there.
 * Of our table only routes to single addresses count. No other program has a use for such a rule:
 * it is known as ours whatever its table and priority are.
 */
struct rule {
    uint8_t family;        /* AF_INET or AF_INET6 */
    bool is_unconditional; /* it matches every packet, and takes any route that it finds */
    bool is_ours;          /* by its shape */
    uint32_t priority;
    uint32_t table;  /* 0: no lookup (goto, blackhole, ...) */
    uint32_t target; /* priority to which a goto leads; 0: no goto */
};

/* The rules of one family, in the kernel's order. */
struct rules {
    struct rule *list;
    uint32_t n;
    uint32_t n_ours;
    bool has_conditional; /* of another program, so that TCP may not use our table */
};

/* Errors: -EBADMSG, a malformed message. */
int rule_parse(struct rule *rule, const struct nlmsghdr *message);

/* RTM_NEWRULE, RTM_DELRULE, as the requests of message.h: ours with that family, priority, table.
 */
struct nlmsghdr *message_rule(void *room, uint16_t type, const struct rule *rule);

/* Adds the rule of a message. Errors: -EBADMSG, -ENOMEM. */
int rules_add(struct rules *rules, const struct nlmsghdr *message);

void rules_deinit(struct rules *rules);

/*
 * The priority that puts a new rule directly before the unconditional `lookup main`, whatever ours
 * are. Returns why there is none; RIPTIDE_REASON_NONE: there is one.
 */
enum riptide_reason rules_place(const struct rules *rules, uint32_t *priority);

/* The first one that leads to that table, of ours or of another program; NULL: none. */
const struct rule *rules_find(const struct rules *rules, uint32_t table, bool is_ours);

/* Whether ours exists once, with that table, directly before the unconditional `lookup main`. */
bool rules_has_ours_in_place(const struct rules *rules, uint32_t table);

#endif
