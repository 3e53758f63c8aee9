/* SPDX-License-Identifier: MIT */
/*
 * The destinations of a router: what is wanted, what the kernel has, and what follows from both.
 * Pure except for memory; sync.c does the work.
 */
#ifndef RIPTIDE_LIB_APPLY_TARGETS_H
#define RIPTIDE_LIB_APPLY_TARGETS_H

#include "apply/routes/message.h"

#include <riptide/apply.h>

/* What may be due for a target. */
enum work {
    WORK_SYNC, /* its base route must be asked, or the kernel's route may differ from the wanted */
    WORK_POP,  /* it waits to be popped */
    WORKS,
};

/* A base route, of all targets that have it: most hosts have one or two. */
struct base {
    struct route route;
    uint32_t n_targets;
    struct base *next;
};

/*
 * Its flags:     set by                                         cleared by
 *
 * is_due[SYNC]   a request, an event, its turn, a failed write  the batch that takes it
 * must_ask       the same, but for a request with a base        the answer about its base route
 * is_failed      a failed query or write; a rule to come        the next tick, which repeats it
 * is_in_kernel   a write; a batch without answers               a deletion
 * is_sure        a write                                        TOUCH_ROUTE, another base, a doubt
 * is_not_taken   an answer to TCP that is not our route         one that is; a deletion
 */
struct target {
    struct riptide_wanted wanted;
    struct base *base;  /* NULL: it was not asked yet, or there is none */
    const char *reason; /* why there is none (static); NULL: there is one, or it was not asked */
    int error;          /* -errno of the last write; 0: none */
    char *error_text;   /* of it, the kernel's, or NULL */
    bool is_due[WORKS];
    bool must_ask;              /* its base route is unknown, or may have changed */
    bool is_failed;             /* a query or write had no success */
    bool is_in_kernel;          /* a route of ours; */
    bool is_sure;               /* it is the one that was written, for the present base; */
    bool is_not_taken;          /* and another rule decides before ours */
    struct own_metrics written; /* as it was */
    /* What the caller knows of it, or waits to be popped. */
    struct told {
        enum riptide_route_state state;
        int error;
        uint32_t base_initcwnd;
        uint32_t initcwnd;  /* of the kernel's route; 0: there is none */
        const char *reason; /* why there is none, if it is wanted (static), or NULL */
    } told;
};

struct targets {
    struct target **list; /* by address, with room for `max` */
    uint32_t n, max;
    uint32_t n_due[WORKS], at[WORKS]; /* and where the round is that does it */
    uint32_t n_in_kernel[2];          /* for each of families[] */
    uint32_t n_left_alone, n_not_taken;
    struct base *bases;
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

/* Sets the base route; NULL: there is none. Errors: -ENOMEM, and then there is none. */
int targets_set_base(struct targets *targets, struct target *target, const struct route *route);

void targets_set_in_kernel(struct targets *targets, struct target *target, bool is_in_kernel);

/* The kernel may have any route of ours to it, or none. */
void targets_doubt(struct targets *targets, struct target *target);

void targets_set_not_taken(struct targets *targets, struct target *target, bool is_not_taken);

/* Unless a write is due, brings `told` up to date; what differs in it is due to be popped. */
void targets_tell(struct targets *targets, struct target *target);

/* As the caller sees it. */
void target_show(const struct target *target, struct riptide_route *route);

/* Forgets a target that is neither wanted nor in the kernel, and for which nothing is due. */
void targets_forget_if_done(struct targets *targets, struct target *target);

/* What follows from what is wanted, the base route and the kernel's route. */
struct target_state {
    bool is_delete;         /* the deletion of the kernel's route is due; */
    bool is_put;            /* then the route with */
    struct own_metrics own; /* where there is a base */
    const char *reason;     /* why there must not be one, if it is asked for (static), or NULL */
};

struct target_state target_state(const struct target *target);

#endif
