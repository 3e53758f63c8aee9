/* SPDX-License-Identifier: MIT */
/*
 * Rules and our routes as the kernel has them, in the thread's namespace. Needs no privilege.
 * Errors: -ENOMEM, those of the kernel.
 */
#ifndef CLI_KERNEL_H
#define CLI_KERNEL_H

#include "lib/apply/routes/rule.h"

#include <riptide/apply.h>

/*
 * The rules of both families in the kernel's order, IPv4 first. The caller frees the array. A
 * kernel without policy rules has none.
 */
int kernel_read_rules(struct rule **rulesp, size_t *n_rulesp);

/* Our routes, sorted by destination. The caller frees the array. */
int kernel_read_routes(const struct riptide_applier_config *config, struct riptide_route **routesp,
                       size_t *n_routesp);

#endif
