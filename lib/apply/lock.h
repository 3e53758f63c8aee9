/* SPDX-License-Identifier: MIT */
/*
 * One router per network namespace: a Unix socket with an abstract name, which the kernel keeps per
 * namespace and gives back when its owner dies, however it dies.
 */
#ifndef RIPTIDE_LIB_APPLY_LOCK_H
#define RIPTIDE_LIB_APPLY_LOCK_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Takes the lock. *fdp is readable when somebody asked who holds it: see lock_answer.
 * Returns -EBUSY where another holds it: *holderp is its process, 0 where that cannot be seen.
 * Errors: those of socket(2), bind(2) and listen(2).
 */
int lock_take(int *fdp, pid_t *holderp);

/*
 * Who holds the lock: *holderp as above. Outcomes: RIPTIDE_E_UNKNOWN where nobody does. Errors:
 * those of socket(2).
 */
int lock_find(pid_t *holderp);

/* Lets those go who asked, a few at a time: whether there may be more. */
bool lock_answer(int fd);

#endif
