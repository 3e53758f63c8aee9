/* SPDX-License-Identifier: MIT */
/*
 * What the kernel has of ours, whichever router made it: read at once, and taken away.
 */
#ifndef RIPTIDE_LIB_APPLY_FLUSH_H
#define RIPTIDE_LIB_APPLY_FLUSH_H

#include "netlink.h"
#include "route.h"
#include "rule.h"

#include <riptide/apply.h>

struct routes {
    struct route *list;
    uint32_t n, capacity;
};

/*
 * Appends the routes of that family and protocol (0: whichever) in the table. The list is the
 * caller's, to be given to free(3). Errors: -ENOMEM, those of the kernel; a family that it does not
 * have has no routes.
 */
int flush_read_routes(struct netlink *channel, uint8_t family, uint32_t table, uint8_t protocol,
                      struct routes *routes);

/* Appends the rules of that family, as above; rules_deinit gives them back. */
int flush_read_rules(struct netlink *channel, uint8_t family, const struct rule_identity *identity,
                     struct rules *rules);

/*
 * Deletes every rule of that family that looks up the table, and those that lead marked queries
 * around it. *n counts up; error may be NULL. Errors: -EPERM, others of the kernel.
 */
int flush_rules(struct netlink *channel, uint8_t family, const struct rule_identity *identity,
                uint32_t *n, struct riptide_error *error);

/*
 * Rules of both families, and the routes of that protocol (0: whichever) in the table; goes on
 * after an error and returns the first. `counts` and `error` may be NULL.
 */
int flush_all(struct netlink *channel, const struct rule_identity *identity, uint8_t protocol,
              struct riptide_flush_counts *counts, struct riptide_error *error);

#endif
