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
 * Appends the routes of that protocol (0: whichever) in the table, of both families. The list is
 * the caller's, to be given to free(3). Errors, behind which the list has what could be read:
 * -ENOMEM, -EINTR (changes interrupted it each time), others of the kernel; a family that it does
 * not have has no routes.
 */
int flush_read_routes(struct netlink *channel, uint32_t table, uint8_t protocol,
                      struct routes *routes);

/* Appends the rules of both families, as above; rules_deinit gives them back. */
int flush_read_rules(struct netlink *channel, const struct rule_identity *identity,
                     struct rules *rules);

/*
 * Deletes every rule that looks up the table, those that lead marked queries around it, and the
 * routes of that protocol (0: whichever) in it; goes on after an error and returns the first.
 * `counts` and `error` may be NULL. Errors: -EPERM, others of the kernel.
 */
int flush_all(struct netlink *channel, const struct rule_identity *identity, uint8_t protocol,
              struct riptide_flush_counts *counts, struct riptide_error *error);

#endif
