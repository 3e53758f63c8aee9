/* SPDX-License-Identifier: MIT */
/*
 * Taking away what a router has put into the kernel, whichever router it was.
 */
#ifndef RIPTIDE_LIB_APPLY_FLUSH_H
#define RIPTIDE_LIB_APPLY_FLUSH_H

#include "netlink.h"
#include "rule.h"

#include <riptide/apply.h>

/*
 * Deletes every rule of that family that looks up the table, and those that lead marked queries
 * around it. *n counts up; it and error may be NULL. Errors: -EPERM, others of the kernel.
 */
int flush_rules(struct netlink *channel, uint8_t family, const struct rule_identity *identity,
                uint32_t *n, struct riptide_error *error);

/*
 * Rules of both families, and the routes of that protocol (0: whichever) in the table; goes on
 * after an error and returns the first.
 */
int flush_all(struct netlink *channel, const struct rule_identity *identity, uint8_t protocol,
              struct riptide_flush_counts *counts, struct riptide_error *error);

#endif
