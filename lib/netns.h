/* SPDX-License-Identifier: MIT */
/*
 * Work in another network namespace. A socket belongs to the one that its thread was in when it was
 * opened, for good, so being there for a moment is enough. And one of us for each: whoever gives
 * windows to its connections holds its lock.
 */
#ifndef RIPTIDE_LIB_NETNS_H
#define RIPTIDE_LIB_NETNS_H

#include <riptide/riptide.h>
#include <stdbool.h>
#include <sys/types.h>

struct netns_visit {
    int home_fd; /* -1: the thread is there */
    const char *field;
};

/*
 * Takes the calling thread to the namespace of `netns_fd`; -1 is where it is. Errors, each with a
 * line, those of the fd with its `field`: -EINVAL (not a network namespace), -EPERM (CAP_SYS_ADMIN),
 * those of open(2) and setns(2).
 */
int netns_visit(struct netns_visit *visit, int netns_fd, const char *field,
                struct riptide_error *error);

/*
 * And back. Returns `r`, which is what was done there; -ENOTRECOVERABLE with a line where the thread
 * could not return: what was done stands, and the thread must not go on.
 */
int netns_return(const struct netns_visit *visit, int r, struct riptide_error *error);

/* Which one it is, as long as something keeps it alive; ino 0: not to be seen (no /proc). */
struct netns_id {
    dev_t dev;
    ino_t ino;
};

struct netns_id netns_identify(int netns_fd);

/* Whether `netns_fd` is on another one, as far as can be seen. */
bool netns_is_other(const struct netns_id *id, int netns_fd);

/*
 * Takes the lock of a namespace (-1: the thread's): *fdp, which close(2) gives back once no child
 * of fork(2) has a copy. Errors: -EBUSY, with a line that names the process that has it; those of
 * socket(2) and netns_visit.
 */
int lock_take(int *fdp, int netns_fd, struct riptide_error *error);

/* Lets those go who have asked who holds it; riptide_router_get_holder in tools.h asks. */
void lock_answer(int lock_fd);

#endif
