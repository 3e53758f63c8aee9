/* SPDX-License-Identifier: MIT */
/*
 * The destinations of a router: what is wanted, what the kernel has, and what follows from both.
 * Pure except for memory; sync.c does the work.
 */
#ifndef RIPTIDE_LIB_APPLY_TARGETS_H
#define RIPTIDE_LIB_APPLY_TARGETS_H

#include "routing.h"

#include <riptide/apply.h>

/* What may be due for a target. */
enum work {
    WORK_SYNC, /* its base route must be asked, or the kernel's route may differ from the wanted */
    WORK_POP,  /* it waits to be popped */
    WORKS,
};

/* What follows from what is wanted, the base route and the kernel's route. */
struct target_state {
    bool is_delete;         /* the deletion of the kernel's route is due; */
    bool is_put;            /* then the route with */
    struct own_metrics own; /* where there is a base */
    enum riptide_route_state state;
    const char *reason;     /* why there must not be a route (static); NULL: one is wanted */
};

struct target {
    struct riptide_wanted wanted;
    bool has_base;      /* else it is left alone or was not asked yet, and `base` is 0 */
    struct route base;
    const char *reason; /* why there is no base (static); NULL: there is, or not asked */
    int error;          /* -errno of the last write; 0: none */
    char *error_text;   /* of it, the kernel's, or NULL */
    bool is_due[WORKS];
    bool must_ask;          /* its base route is unknown, or may have changed */
    bool is_failed;         /* a query or write was refused: the timer repeats it */
    bool is_in_kernel;      /* a route of ours, set by targets_set_in_kernel; */
    bool is_sure;           /* it is the one that was written, for the present base; */
    bool is_not_taken;      /* and another rule decides before ours: targets_set_not_taken */
    struct own_metrics written; /* as it was */
    /* What the caller knows of it, or waits to be popped. */
    enum riptide_route_state told_state;
    int told_error;
    uint32_t told_base_initcwnd;
    const char *told_reason;
};

struct targets {
    struct target **list; /* by address, with room for `max` */
    uint32_t n, max;
    uint32_t n_due[WORKS], at[WORKS]; /* and where the round is that does it */
    uint32_t n_in_kernel[2];          /* for each of families[] */
    uint32_t n_left_alone, n_not_taken;
};

/* Forgets all of them. */
void targets_deinit(struct targets *targets);

/* The target of that address, or NULL. */
struct target *targets_find(const struct targets *targets, const struct riptide_prefix *dst);

/*
 * Adds that of an address that has none; where there is no room, in place of one that only waits to
 * be popped. Outcomes: RIPTIDE_E_FULL. Errors: -ENOMEM.
 */
int targets_add(struct targets *targets, const struct riptide_prefix *dst, struct target **targetp);

/* The first of the n targets inside `prefix`, in the list. */
uint32_t targets_find_inside(const struct targets *targets, const struct riptide_prefix *prefix,
                             uint32_t *n);

void targets_push(struct targets *targets, enum work work, struct target *target);

/* The next one for which it was due, in a round of all; or NULL. */
struct target *targets_take(struct targets *targets, enum work work);

void targets_set_in_kernel(struct targets *targets, struct target *target, bool is_in_kernel);
void targets_set_not_taken(struct targets *targets, struct target *target, bool is_not_taken);

/* Brings `told` up to date. Due to be popped is what differs in it, and each route written. */
void targets_tell(struct targets *targets, struct target *target, const struct routing *routing,
                  bool is_written);

/* As the caller sees it. */
void target_show(const struct target *target, struct riptide_route *route);

/* Forgets a target that is neither wanted nor in the kernel, and for which nothing is due. */
void targets_forget_if_done(struct targets *targets, struct target *target);

/* Sets the base route, or for a reason none; returns whether there is one. */
bool target_set_base(struct target *target, const struct route *base, const char *reason);

struct target_state target_state(const struct target *target, const struct routing *routing);

#endif
