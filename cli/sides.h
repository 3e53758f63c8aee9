/* SPDX-License-Identifier: MIT */
/* What `riptide show` lists: the daemon's destinations beside the kernel's routes. */
#ifndef CLI_SIDES_H
#define CLI_SIDES_H

#include "commands.h"
#include "explanation.h"
#include "rules.h"

/* A destination of the daemon, the kernel, or both. */
struct destination {
    const struct riptide_prefix *dst;
    const struct riptide_route *route;  /* NULL: the kernel has none */
    const struct explanation_row *told; /* NULL: the daemon has no data on it */
    bool has_program;                   /* which gives it its window, independent of routes */
    uint32_t starts_with;               /* first window of a connection, segments; 0: none */
    const char *not_ours;               /* why that is not the route's; NULL: it is */
    const char *difference;             /* NULL: none */
};

struct sides {
    struct riptide_route *routes; /* the kernel's */
    size_t n_routes;
    struct start *starts;         /* of connections to each */
    struct explanation_row *told; /* the daemon's */
    size_t n_told;
    struct destination *rows; /* both together, sorted by destination */
    size_t n_rows;
    bool is_running; /* the daemon answers */
    bool is_paused;
    bool is_by_program; /* the daemon's program also gives each destination its window, */
    char why_off[256];  /* unless this is the reason why not */
    struct riptide_error absence; /* why the daemon did not answer */
    size_t n_differences;
    size_t n_not_taken; /* routes */
};

/*
 * Reads both, within a prefix (family 0: all); if the daemon does not answer, only the kernel's
 * routes. Begin with an empty struct, and call sides_deinit in any case. Errors: -ENOMEM, those of
 * the kernel.
 */
int sides_read(struct sides *sides, const struct command_options *options,
               const struct riptide_prefix *within);

void sides_deinit(struct sides *sides);

/* All of it, by address; `table` is that of the routes. */
void sides_print_json(const struct sides *sides, uint32_t table);

#endif
