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

/* What is known of the base route of a destination. */
enum base_state {
    BASE_UNKNOWN, /* the kernel was not asked yet, or there was no memory for its answer */
    BASE_KNOWN,
    BASE_NONE, /* there is none that can be copied */
};

/* When the kernel is asked for the base route again. */
enum ask {
    ASK_NOT,     /* after an event that concerns it, or in its turn within a minute */
    ASK_AT_TICK, /* with the next tick: something failed, or is still to come */
    ASK_NOW,     /* before anything is written for it: it is due */
};

/* What the kernel has of ours. */
enum kernel_state {
    KERNEL_ABSENT,  /* no route */
    KERNEL_CURRENT, /* the route that was written, for the present base */
    KERNEL_STALE,   /* a route for another base, or one that may have been changed or deleted */
};

struct target {
    struct riptide_wanted wanted; /* initcwnd 0: nothing is */
    enum ask ask;
    enum base_state base_state;
    struct base *base;          /* of BASE_KNOWN; else NULL */
    enum riptide_reason reason; /* of BASE_NONE: why there is none */
    enum kernel_state kernel;
    struct own_metrics written; /* those of the kernel's route, unless it is absent */
    uint64_t written_ns;        /* when (CLOCK_BOOTTIME) it got this initcwnd */
    bool is_not_taken;          /* TCP takes another route than that: a rule decides before ours */
    int error;                  /* -errno of the last write; 0: none */
    char *error_text;           /* of it, the kernel's, or NULL */
    bool is_due[WORKS];
    /* What the caller knows of it, or waits to be popped. */
    struct reported {
        enum riptide_route_state state;
        int error;
        uint32_t base_initcwnd;
        uint32_t initcwnd;          /* of the kernel's route; 0: there is none */
        enum riptide_reason reason; /* why there is none, if it is wanted */
    } reported;
};

struct targets {
    struct target **list; /* by address, with room for `max`; behind them the latest, likewise */
    uint32_t n;
    uint32_t n_sorted; /* without the latest */
    uint32_t max;
    uint32_t n_due[WORKS];   /* of all, those for which that work is due */
    uint32_t at[WORKS];      /* the place in the list of the round that does it */
    uint32_t n_in_kernel[2]; /* with a route of ours, for each of families[] */
    uint32_t n_left_alone;   /* that were reported so */
    uint32_t n_not_taken;    /* with a route that TCP does not use */
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

/* The first of the n targets inside `prefix`, in the list, until another one is added. */
uint32_t targets_find_inside(struct targets *targets, const struct riptide_prefix *prefix,
                             uint32_t *n);

void targets_push(struct targets *targets, enum work work, struct target *target);

/* The next one for which it was due, in a round of all; or NULL. */
struct target *targets_take(struct targets *targets, enum work work);

/* Asks for its base route no later than that. ASK_NOW makes it due. */
void targets_ask(struct targets *targets, struct target *target, enum ask ask);

/* The kernel's answer is that base route. Errors: -ENOMEM, and then it is unknown. */
int targets_set_base(struct targets *targets, struct target *target, const struct route *route);

/* Its answer is that there is none. */
void targets_set_no_base(struct targets *targets, struct target *target,
                         enum riptide_reason reason);

void targets_set_kernel(struct targets *targets, struct target *target, enum kernel_state kernel);

/* The kernel's route, if there is one, may have been changed or deleted. */
void target_set_stale(struct target *target);

void targets_set_not_taken(struct targets *targets, struct target *target, bool is_not_taken);

/* Unless a write is due, brings `reported` up to date; what differs in it is due to be popped. */
void targets_report(struct targets *targets, struct target *target);

/* As the caller sees it. */
void target_show(const struct target *target, struct riptide_route *route);

/* Forgets a target that is neither wanted nor in the kernel, and for which nothing is due. */
void targets_forget_if_done(struct targets *targets, struct target *target);

/* What follows from what is wanted, the base route and the kernel's route. */
struct target_plan {
    struct route_decision decision; /* its reason is also that there is no base */
    bool is_delete;                 /* the kernel's route is to be deleted; */
    bool is_put;                    /* then one is to be written */
};

struct target_plan target_plan(const struct target *target);

#endif
