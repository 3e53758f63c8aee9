/* SPDX-License-Identifier: MIT */
/*
 * The lock of a network namespace, so that only one agent gives windows to its connections: a Unix
 * socket with an abstract name, which exists per namespace and is free again when its owner dies,
 * however it dies. A client connects, reads the owner's credentials from the kernel and closes.
 */
#ifndef RIPTIDE_LIB_NETNS_H
#define RIPTIDE_LIB_NETNS_H

#include <riptide/riptide.h>
#include <stdbool.h>
#include <sys/types.h>

struct lock {
    int fd;
    ino_t netns;   /* 0: unknown (no /proc) */
    bool is_taken; /* until it is closed, as a socket keeps its name */
};

/* Of the calling thread's namespace; whoever takes it may be in another. Errors: of socket(2). */
int lock_open(struct lock *lock);

/*
 * Takes it, unless it is taken by this object already. Errors: -EBUSY, with a line that names its
 * process where the thread can see that; those of bind(2).
 */
int lock_take(struct lock *lock, struct riptide_error *error);

/* Closes: free again once no child of fork(2) has a copy. */
void lock_close(struct lock *lock);

/*
 * Closes the connections of clients that have asked for the holder, as riptide_router_get_holder in
 * tools.h does.
 */
void lock_answer(const struct lock *lock);

#endif
