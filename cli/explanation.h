/* SPDX-License-Identifier: MIT */
/*
 * What is known of a destination as JSON: the same words whether the daemon says them or a look of
 * the command itself. Pure.
 */
#ifndef CLI_EXPLANATION_H
#define CLI_EXPLANATION_H

#include "lib/tools.h"

#include <jansson.h>
#include <riptide/apply.h>
#include <riptide/compute.h>
#include <stdbool.h>

/* The state of a destination that has no route, but a window in the program's map. */
#define PER_CONNECTION "per connection"

/* That, "applied", "withdrawn", "left alone" or "failed". */
const char *explanation_route_state(const struct riptide_route *route);

/* Its text; null where the family is 0. */
json_t *explanation_prefix(const struct riptide_prefix *prefix);

/* How the window came about. NULL without memory. */
json_t *explanation_window(const struct riptide_explanation *explanation, uint64_t now_ns);

/* How many connections were seen, and which of them a policy left out, by reason. */
json_t *explanation_seen(const struct riptide_explanation *explanation);

/* What trials have shown of each window; empty where there are none (NULL). */
json_t *explanation_trials(const struct ladder *ladder, const struct ladder *site,
                           double again_price);

/* A hint, and how long it still holds. */
json_t *explanation_hint(const struct riptide_hint *hint, uint64_t now_ns);

/* A route; `dev` is the name of its device, NULL where it has none. */
json_t *explanation_route(const struct riptide_route *route, const char *dev);

/* A destination in a list of many, and read back from there. */
struct explanation_row {
    struct riptide_prefix dst;
    char state[16];
    uint32_t initcwnd; /* as written, segments */
    uint32_t cwnd;     /* as wanted; 0: no window */
    uint32_t connections;
    uint32_t initrwnd; /* that the program asks the kernel for, segments; 0: none */
    char reason[96]; /* empty: none */
};

json_t *explanation_row(const struct riptide_route *route, const struct riptide_estimate *estimate,
                        uint32_t initrwnd);

/* False where it is none. */
bool explanation_read_row(struct explanation_row *row, const json_t *text);

/*
 * The document of riptide explain (docs/schema/explain.json) in words: templates (render.h) for it,
 * of explain_words.c.
 */
#define EXPLAIN_BYTES 400

/* Who manages the network namespace where no riptided answers that does. */
#define EXPLAIN_MANAGER                                                                            \
    "[{+holder}[{?holder}process {holder}|a process that this user cannot see] manages this "      \
    "network namespace "                                                                           \
    "(an agent that embeds the library, or a riptided out of reach of --control)"                  \
    "|riptided is not running]"

/* One sentence: with what connections start there, and where it is ten, why. */
extern const char explain_sentence[];

/* The steps to it, one a line. For these it has `is_itself`: what is asked about is a destination. */
extern const char explain_steps[];

#endif
