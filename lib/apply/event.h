/* SPDX-License-Identifier: MIT */
/*
 * Notifications of the kernel, and what a router does about them. Pure but for memory.
 */
#ifndef RIPTIDE_LIB_APPLY_EVENT_H
#define RIPTIDE_LIB_APPLY_EVENT_H

#include "plan.h"

/* Takes in one notification. What makes no sense may mean anything. Errors: -ENOMEM. */
int event_follow(struct plan *plan, const struct nlmsghdr *message);

/*
 * Takes in whether a neighbour has failed. Returns 1 where that is new of a gateway of main's.
 * Errors: -EBADMSG, -ENOMEM.
 */
int event_note_neighbour(struct plan *plan, const struct nlmsghdr *message);

#endif
