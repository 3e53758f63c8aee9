/* SPDX-License-Identifier: MIT */
/*
 * The destinations of a router: the wanted window, the route in the kernel, and the work to do.
 * Pure except for memory; resolve.c and write.c do the work.
 */
#ifndef RIPTIDE_LIB_APPLY_TARGETS_H
#define RIPTIDE_LIB_APPLY_TARGETS_H

#include "base.h"
#include "links.h"
#include "prefix_table.h"

#include <riptide/apply.h>

/* Work that is due for a target; each is a queue. */
enum target_queue {
    QUEUE_ASK,   /* its base route must be queried */
    QUEUE_WRITE, /* the kernel's route may differ from the wanted one */
    QUEUE_POP,   /* its state waits to be popped */
    QUEUES,
};

/* Pointers to a target are valid until another one is added. */
struct target {
    struct riptide_wanted wanted; /* its destination comes first, as the key of the table */
    struct base *base;            /* its own; NULL: left alone or not asked yet */
    const char *reason; /* why it is left alone (static); NULL: it is not, or the base route's
                           window suffices */
    char *failure;      /* the kernel's text for `error`, owned; NULL: none */
    int error;          /* -errno of the last write; 0: none */
    uint32_t next[QUEUES];
    bool is_queued[QUEUES];
    bool is_failed;    /* a query or write was refused: the timer repeats it */
    bool is_not_taken; /* TCP does not use its route, as another rule decides before ours */
    uint8_t state;     /* enum riptide_route_state */
    struct {
        bool exists; /* set by targets_set_exists */
        bool is_seen; /* by the present dump of our table */
        bool is_of_base; /* it was written for the target's present base route */
        uint32_t priority; /* part of its key */
        struct metrics metrics;
    } kernel;
    struct {
        int error;
        const char *reason;
        uint32_t base_initcwnd;
    } said; /* popped last */
};

/* A destination in the order of addresses. */
struct target_place {
    struct riptide_prefix dst;
    uint32_t slot;
};

struct targets {
    struct prefix_table table;
    struct target_place *order; /* the hosts by address, in room for the whole table */
    uint32_t n_ordered, order_capacity;
    bool is_ordered; /* `order` has all hosts and no others */
    uint32_t head[QUEUES], tail[QUEUES];
    uint32_t n_in_kernel[2]; /* routes of ours, for each of families[] */
};

void targets_init(struct targets *targets, uint32_t max, uint64_t seed);
void targets_deinit(struct targets *targets);

/* The target of that prefix, added if missing. Outcomes and errors: prefix_table_insert. */
int targets_get(struct targets *targets, const struct riptide_prefix *dst, struct target **targetp);

/* The target of that prefix, or NULL. */
struct target *targets_find(const struct targets *targets, const struct riptide_prefix *dst);

/* Walks over all targets: begin with *slot 0 and add one each time; NULL after the last. */
struct target *targets_next(const struct targets *targets, uint32_t *slot);

/*
 * The hosts inside `prefix`: *n elements in order of their addresses, valid until a target is added
 * or removed. Needs no memory.
 */
const struct target_place *targets_find_inside(struct targets *targets,
                                               const struct riptide_prefix *prefix, uint32_t *n);

/* The target of a slot that is in use. */
struct target *targets_at(const struct targets *targets, uint32_t slot);

/* Appends a target to a queue, unless it is in it. */
void targets_push(struct targets *targets, enum target_queue queue, struct target *target);

/* Takes the first target of a queue, or NULL. */
struct target *targets_take(struct targets *targets, enum target_queue queue);

bool targets_is_empty(const struct targets *targets, enum target_queue queue);

/* Records whether the kernel has a route of ours to it. */
void targets_set_exists(struct targets *targets, struct target *target, bool exists);

/* Sets the state of a target; a changed one waits to be popped. */
void targets_set_state(struct targets *targets, struct target *target,
                       enum riptide_route_state state);

/*
 * Sets the base route: a copy of `base`, or none for a reason. Without memory for a copy it has
 * none for that reason. Errors: -ENOMEM.
 */
int target_set_base(struct target *target, const struct base *base, const char *reason);

/* Another initcwnd of the base route than was popped last waits to be popped. */
void targets_say_base(struct targets *targets, struct target *target);

/* Forgets a target that is neither wanted, nor in the kernel, nor in a queue. */
void targets_forget_if_done(struct targets *targets, struct target *target);

/* The failure of the last write; error 0: none. Without memory for the text it is omitted. */
void target_set_failure(struct target *target, int error, const char *text);

/* Whether it is one address. */
bool target_is_host(const struct target *target);

/* Of its base route, segments; 0: not set or unknown. */
uint32_t target_base_initcwnd(const struct target *target);

/*
 * Whether the window without us suffices: no route is made for a window up to a step above that of
 * the base route, and none stays for a window that is not above it, or not above the kernel's own
 * where the base route names none.
 */
bool target_is_at_base(const struct target *target);

/*
 * Whether its connections show a smaller path MTU than that of its base route or link. The kernel
 * keeps what it has learned with the route: with ours it would be lost at each change of a window,
 * and cost a first flight.
 */
bool target_is_narrow(const struct target *target, const struct links *links);

/* Whether the kernel should have a route for it. */
bool target_is_wanted(const struct target *target, const struct links *links);

/*
 * The metrics of its route. initcwnd: at least that without us, as the owner of the base route
 * knows the path, unless losses or a hint lowered the window (may_lower). initrwnd: the base
 * route's, raised to the first receive window that is wanted. mtu: the base route's, or its links'.
 * The links' MTU would apply anyway, but must be explicit for open connections when the route is
 * deleted: the kernel then removes the route's device, and they would read the MTU of none
 * (docs/decisions.md).
 */
struct metrics target_metrics(const struct target *target, const struct links *links);

/* Sets what is wanted from now on. */
void target_want(struct target *target, const struct riptide_wanted *wanted);

/* Whether the kernel's route differs from the wanted one by more than a step of the window. */
bool target_needs_write(const struct target *target, const struct links *links);

#endif
