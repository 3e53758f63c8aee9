/* SPDX-License-Identifier: MIT */
/*
 * The destinations that a router has been asked for: what is wanted, what the kernel has, what is
 * to be done. Pure but for memory; the work is resolve.c's and sync.c's.
 */
#ifndef RIPTIDE_LIB_APPLY_TARGETS_H
#define RIPTIDE_LIB_APPLY_TARGETS_H

#include "base.h"
#include "links.h"
#include "prefix_table.h"

#include <riptide/apply.h>

/* What waits to be done with a target; each is a queue. */
enum target_queue {
    QUEUE_TOUCHED, /* an event touched it: to be resolved in the next pass */
    QUEUE_RESOLVE, /* its base route must be asked for */
    QUEUE_WRITE,   /* the kernel has something else than is wanted */
    QUEUE_POP,     /* the host does not know its state yet */
    QUEUES,
};

/* Whether main has more specific routes inside a target. */
enum inside {
    INSIDE_UNKNOWN, /* no scan has read main since the target is there */
    INSIDE_NONE,
    INSIDE_SOME,
};

/* What becomes of the path MTU that is wanted. */
enum pmtu_use {
    PMTU_USED,  /* it is the route's, where that has no smaller one */
    PMTU_OLD,   /* learned with another base: not used until it is withdrawn */
    PMTU_WRONG, /* not what connections make of it: not used as long as the base stays */
};

/* Pointers to a target are good until another one comes. */
struct target {
    struct riptide_wanted wanted; /* its destination comes first: it is the table's */
    bool is_queued[QUEUES];
    uint8_t inside;     /* enum inside */
    bool is_probe;      /* asked again in case that its base has changed in silence */
    bool is_failed;     /* asking or writing was refused: riptide_router_retry tries again */
    uint8_t state;      /* enum riptide_route_state */
    uint8_t pmtu_use;   /* enum pmtu_use */
    uint32_t next[QUEUES];
    struct base *base;        /* NULL: left alone or not resolved */
    uint32_t known_initcwnd;  /* its base's, as the agent knows it; */
    uint32_t judged_initcwnd; /* the one of the time when the window was asked for */
    struct {
        bool exists;
        bool is_of_base;   /* it was written with the target's base */
        uint32_t priority; /* part of its key */
        struct metrics metrics;
    } kernel;
    int error;          /* -errno of the last write; 0: none */
    const char *reason; /* why it is left alone, static; NULL: it is not, or is at its base */
    char *failure;      /* the kernel's words with `error`, owned; NULL: none */
    struct {
        int error;
        const char *reason;
    } said; /* with its state */
};

/* A target where its address stands in order. */
struct target_place {
    struct riptide_prefix dst;
    uint32_t slot;
};

struct targets {
    struct prefix_table table;
    struct base *last_base; /* most destinations lie behind few routes, which they share */
    struct target_place *order; /* by address, the shorter prefix first; see targets_find_inside */
    bool is_ordered;            /* `order` has all targets, and no others */
    uint32_t head[QUEUES], tail[QUEUES];
    uint32_t n_prefixes; /* targets that are no hosts */
};

void targets_init(struct targets *targets, uint32_t max, uint64_t seed);
void targets_deinit(struct targets *targets);

/* The target of that prefix, made where there is none. Outcomes and errors: prefix_table_insert. */
int targets_get(struct targets *targets, const struct riptide_prefix *dst,
                struct target **targetp);

/* The target of that prefix; NULL: there is none. */
struct target *targets_find(const struct targets *targets, const struct riptide_prefix *dst);

/*
 * A walk over all that begins with *slot 0 and goes on with one more; NULL behind the last.
 */
struct target *targets_next(const struct targets *targets, uint32_t *slot);

/* The target of `len` bits that holds `dst`, or NULL. */
struct target *targets_find_around(const struct targets *targets, const struct riptide_prefix *dst,
                                   uint8_t len);

/*
 * The targets inside `prefix`, itself included: a run of *n elements in order of their addresses,
 * valid until a target comes or goes. Errors: -ENOMEM.
 */
int targets_find_inside(struct targets *targets, const struct riptide_prefix *prefix,
                        const struct target_place **placesp, uint32_t *n);

/* The target of a slot that is in use. */
struct target *targets_at(const struct targets *targets, uint32_t slot);

/* Puts a target at the end of a queue, unless it is in it. */
void targets_push(struct targets *targets, enum target_queue queue, struct target *target);

/* Takes the first of a queue; NULL where it is empty. */
struct target *targets_take(struct targets *targets, enum target_queue queue);

bool targets_is_empty(const struct targets *targets, enum target_queue queue);

/* Says where the target stands; what is news waits to be popped. */
void targets_set_state(struct targets *targets, struct target *target,
                       enum riptide_route_state state);

/*
 * Takes in what its base is by now: a copy of that, or none for a reason. Where a copy finds no
 * memory it has none, and that is the reason. Errors: -ENOMEM.
 */
int targets_set_base(struct targets *targets, struct target *target, const struct base *base,
                     const char *reason);

/* Forgets a target that is not wanted, not in the kernel and in no queue. */
void targets_forget_if_done(struct targets *targets, struct target *target);

/* The failure of the last write, or none with error 0. A text that finds no memory is left out. */
void target_set_failure(struct target *target, int error, const char *text);

/* Whether it is one address. */
bool target_is_host(const struct target *target);

/*
 * Whether its base does for it, as it starts with as much: no route is made for no more than a step
 * above that, and none stays for nothing.
 */
bool target_is_at_base(const struct target *target, const struct riptide_router_config *config);

/* Of one with a base: whether a former one gave its window, so that it is to be asked for anew. */
bool target_is_at_former_base(const struct target *target);

/* Whether the kernel should have a route for it. */
bool target_is_wanted(const struct target *target, const struct riptide_router_config *config);

/*
 * What its route says, which has a base. Its initcwnd: no less than the base route has, as its
 * owner knows the path, unless what took the window down holds there, too. What was asked for as
 * the base had it stands for the base, also where that has changed since: who asked will think
 * again. Its initrwnd: the base's, raised to what a peer with our bound sends. Its mtu: the base's,
 * or its links', or less where less was learned. The base's links' would be the same without a
 * word, but for open connections when the route goes: the kernel then takes its device away, and
 * they read the MTU of none (docs/decisions.md).
 */
struct metrics target_metrics(const struct target *target, const struct links *links,
                              const struct riptide_router_config *config);

/* Takes over what is wanted now. */
void target_want(struct target *target, const struct riptide_wanted *wanted,
                 const struct links *links);

/* Whether what the kernel has is not what is wanted, or a window within a step of it. */
bool target_needs_write(const struct target *target, const struct links *links,
                        const struct riptide_router_config *config);

#endif
