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
    int (*dispatch)(void *self);
    int (*get_fd)(const void *self);
    int (*pop)(void *self, const struct riptide_route **routep);
    bool (*is_idle)(const void *self);
    int (*stop)(void *self);
};

/* Routes in a table of our own: `self` is a struct riptide_router. */
extern const struct backend backend_routes;

#endif
