/* SPDX-License-Identifier: MIT */
/*
 * The two sides of a destination: our route as the kernel has it, and what the daemon believes.
 */
#ifndef CLI_SIDES_H
#define CLI_SIDES_H

#include "commands.h"
#include "rules.h"

/* A destination as the daemon tells it. */
struct told {
    struct riptide_prefix dst;
    const char *state;
    uint32_t initcwnd; /* that it has written, or was refused; segments */
    uint32_t cwnd;     /* that it wants; 0: none */
    uint32_t connections;
    const char *reason; /* NULL: none */
};

/* Both sides, sorted by destination. */
struct sides {
    struct riptide_route *routes; /* the kernel's */
    size_t n_routes;
    struct start *starts; /* of connections to each; NULL: with these */
    json_t *answer; /* holds the words of `told` */
    struct told *told;
    size_t n_told;
    bool is_running;             /* the daemon */
    struct riptide_error absence; /* why it could not be asked */
    bool is_paused;
    uint64_t step_segments;      /* by which a window may miss what is wanted, */
    uint64_t step_percent;       /* or by this share of itself */
    size_t n_differences;
    size_t n_not_taken; /* routes whose connections take another */
};

/* A destination on either side. */
struct pair {
    const struct riptide_prefix *dst;
    const struct riptide_route *route; /* NULL: the kernel has none */
    const struct start *start;         /* of connections to it; NULL: with the route, if any */
    const struct told *told;           /* NULL: the daemon knows nothing of it */
    const char *difference;            /* NULL: none */
};

/*
 * Reads both sides; of destinations within `within`, of all where its family is 0. Where the daemon
 * cannot be asked, there is the kernel's alone. Errors: -ENOMEM, those of the
 * kernel.
 */
int sides_read(struct sides *sides, const struct command_options *options,
               const struct riptide_prefix *within);

void sides_deinit(struct sides *sides);

/* Where a walk over both sides stands; zero at its begin. */
struct sides_walk {
    size_t route_at;
    size_t told_at;
};

/* The next destination of either side, in order; false behind the last. */
bool sides_next(const struct sides *sides, struct sides_walk *walk, struct pair *pair);

#endif
