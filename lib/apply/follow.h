/* SPDX-License-Identifier: MIT */
/*
 * Notifications of the kernel, and what a router does about them. Pure but for memory.
 */
#ifndef RIPTIDE_LIB_APPLY_FOLLOW_H
#define RIPTIDE_LIB_APPLY_FOLLOW_H

#include "plan.h"

#include <linux/netlink.h>

/* Takes in one notification. Errors: -ENOMEM. */
int follow(struct plan *plan, const struct nlmsghdr *message);

#endif
