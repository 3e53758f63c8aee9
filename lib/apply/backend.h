/* SPDX-License-Identifier: MIT */
/*
 * How the agent hands over what is wanted, whatever gives it to the kernel. A backend takes it for
 * one prefix after the other, does the work in bounded pieces when its fd is readable, and says
 * what has become of each prefix. None knows of another.
 */
#ifndef RIPTIDE_LIB_APPLY_BACKEND_H
#define RIPTIDE_LIB_APPLY_BACKEND_H

#include <riptide/apply.h>

/* Each as the function of riptide_router_... that has its name; `self` is what it is called for. */
struct backend {
    int (*set)(void *self, const struct riptide_wanted *wanted);
    int (*pop)(void *self, const struct riptide_route **routep);
    int (*stop)(void *self);
    int (*set_paused)(void *self, bool is_paused);
    /* For each round, which are so far apart: tries again what was refused. */
    void (*check)(void *self, uint64_t round_ns);
    /* All NULL: the backend reads no fd, and `set` completes at once. */
    bool (*is_idle)(const void *self);
    int (*get_fd)(const void *self);
    int (*dispatch)(void *self);
};

/* Routes in a table of our own: `self` is a struct riptide_router. */
extern const struct backend backend_routes;

/*
 * Under a lock that another backend has taken: removes what a router left that was killed, unless
 * others use the same numbers; its errors, each with a line. A router with dry_run removes nothing.
 */
int claim_clear(struct riptide_router *router, struct riptide_error *error);

/* As a pause, and apart from it: until it is NULL. `why` stays the caller's. Errors: likewise. */
int router_step_back(struct riptide_router *router, const char *why);

#endif
