/* SPDX-License-Identifier: MIT */
/*
 * Rules and our routes as the kernel has them, in the thread's namespace. Needs no privilege.
 * Errors: -ENOMEM, those of the kernel.
 */
#ifndef CLI_KERNEL_H
#define CLI_KERNEL_H

#include "lib/apply/routes/rule.h"

#include <riptide/apply.h>

struct netlink;
struct nlmsghdr;
typedef struct nlmsghdr *kernel_begin_fn(void *userdata, void *room);
typedef int kernel_message_fn(void *userdata, const struct nlmsghdr *message);

/*
 * A whole dump. `begin` builds the request in the buffer and discards the results of on_message: it
 * is called again if changes interrupted the dump, a few times at most. Errors: -EINTR if each dump
 * was interrupted, those of netlink_dump_step.
 */
int kernel_dump(struct netlink *netlink, kernel_begin_fn *begin, kernel_message_fn *on_message,
                void *userdata);

/*
 * The rules of both families in the kernel's order, IPv4 first. The caller frees the array. A
 * kernel without policy rules has none.
 */
int kernel_read_rules(struct rule **rulesp, size_t *n_rulesp);

/* Our routes, sorted by destination. The caller frees the array. */
int kernel_read_routes(const struct riptide_applier_config *config, struct riptide_route **routesp,
                       size_t *n_routesp);

#endif
