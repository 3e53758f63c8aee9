/* SPDX-License-Identifier: MIT */
/*
 * Work in another network namespace. A socket stays in the namespace in which its thread opened it,
 * so a short visit is enough. And a lock, so that only one agent gives windows to the connections
 * of a namespace.
 */
#ifndef RIPTIDE_LIB_NETNS_H
#define RIPTIDE_LIB_NETNS_H

#include <riptide/riptide.h>
#include <stdbool.h>
#include <sys/types.h>

struct netns_visit {
    int home_fd; /* -1: the thread is there already */
    const char *field;
};

/*
 * Moves the calling thread to the namespace of `netns_fd`; -1: it stays. Errors, each with a line,
 * those of the fd with its `field`: -EINVAL (not a network namespace), -EPERM (CAP_SYS_ADMIN),
 * those of open(2) and setns(2).
 */
int netns_visit(struct netns_visit *visit, int netns_fd, const char *field,
                struct riptide_error *error);

/*
 * Moves it back. Returns `r`, the result of the visit; -ENOTRECOVERABLE with a line if the thread
 * could not return: the work there is done, and the thread must not go on.
 */
int netns_return(const struct netns_visit *visit, int r, struct riptide_error *error);

/*
 * Takes the lock of a namespace (-1: the thread's): *fdp; close(2) releases it once no child of
 * fork(2) has a copy. Errors: -EBUSY, with a line that names its process; those of socket(2) and
 * netns_visit.
 */
int lock_take(int *fdp, int netns_fd, struct riptide_error *error);

/*
 * Closes the connections of clients that have asked for the holder, as riptide_router_get_holder in
 * tools.h does.
 */
void lock_answer(int lock_fd);

#endif
