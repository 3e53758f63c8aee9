/* SPDX-License-Identifier: MIT */
/*
 * The two sides of each destination: our route as the kernel has it, and what the daemon believes.
 */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include "commands.h"
#include "rules.h"

/* A destination as the daemon has it. */
struct told {
    struct riptide_prefix dst;
    char state[16];
    uint32_t initcwnd; /* as written, segments */
    uint32_t cwnd;     /* as wanted; 0: no window */
    uint32_t connections;
    char reason[96]; /* empty: none */
};

/* A destination of either side. */
struct destination {
    const struct riptide_prefix *dst;
    const struct riptide_route *route; /* NULL: the kernel has none */
    const struct told *told;           /* NULL: the daemon does not know it */
    uint32_t starts_with;              /* first window of a connection, segments; 0: none */
    const char *not_ours;              /* why that is not the route's; NULL: it is */
    const char *difference;            /* NULL: none */
};

struct sides {
    struct riptide_route *routes; /* the kernel's */
    size_t n_routes;
    struct start *starts; /* of connections to each */
    struct told *told;    /* the daemon's */
    size_t n_told;
    struct destination *rows; /* both together, sorted by destination */
    size_t n_rows;
    bool is_running; /* the daemon */
    bool is_paused;
    int64_t step_segments; /* what it wants may be so far from what it has written */
    int64_t step_percent;
    struct riptide_error absence; /* why the daemon could not be asked */
    size_t n_differences;
    size_t n_not_taken; /* routes */
};

/*
 * Reads both sides of the destinations within `within`, of all where its family is 0. Where the
 * daemon cannot be asked, there is the kernel's alone. Errors: -ENOMEM, those of the kernel.
 */
int sides_read(struct sides *sides, const struct command_options *options,
               const struct riptide_prefix *within);

void sides_deinit(struct sides *sides);

#endif
