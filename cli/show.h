/* SPDX-License-Identifier: MIT */
/*
 * The two sides of each destination: our route as the kernel has it, and what the daemon believes.
 */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include "commands.h"
#include "rules.h"

/* Both sides, sorted by destination, and where a walk over them stands. */
struct sides {
    struct riptide_route *routes; /* the kernel's */
    size_t n_routes;
    struct start *starts; /* of connections to each; NULL: with these */
    json_t *pages;        /* answers of the daemon */
    struct told *told;    /* rows of them */
    size_t n_told;
    bool is_running; /* the daemon */
    bool is_paused;
    struct riptide_error absence; /* why the daemon could not be asked */
    size_t n_differences;
    size_t route_at;
    size_t told_at;
};

/*
 * Reads both sides of the destinations within `within`, of all where its family is 0. Where the
 * daemon cannot be asked, there is the kernel's alone. Errors: -ENOMEM, those of the kernel.
 */
int sides_read(struct sides *sides, const struct command_options *options,
               const struct riptide_prefix *within);

/* The next destination, in order, as docs/schema/show.json has its routes; NULL behind the last. */
json_t *sides_next(struct sides *sides);

void sides_deinit(struct sides *sides);

#endif
