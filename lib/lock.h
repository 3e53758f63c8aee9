/* SPDX-License-Identifier: MIT */
/*
 * One of us for each network namespace: whoever gives windows to its connections holds its lock.
 */
#ifndef RIPTIDE_LIB_LOCK_H
#define RIPTIDE_LIB_LOCK_H

#include <riptide/riptide.h>

/*
 * Takes the lock of a namespace (-1: the thread's): *fdp, which close(2) gives back once no child of
 * fork(2) has a copy. Errors: -EBUSY, with a line that names the process that has it; those of
 * socket(2) and netns.h.
 */
int lock_take(int *fdp, int netns_fd, struct riptide_error *error);

/* Lets those go who have asked who holds it; riptide_router_get_holder in tools.h asks. */
void lock_answer(int lock_fd);

#endif
