/* SPDX-License-Identifier: MIT */
/* A destination as JSON, equal from the daemon and from a command's own dump. Pure. */
#ifndef CLI_EXPLANATION_H
#define CLI_EXPLANATION_H


#include <jansson.h>
#include <riptide/agent.h>
#include <riptide/apply.h>
#include <riptide/compute.h>
#include <stdbool.h>

/* The state of a destination without a route, but with a window in the program's map. */
#define STATE_PROGRAM "by the program"

/* STATE_PROGRAM, "applied", "withdrawn", "left alone" or "failed". */
const char *explanation_route_state(const struct riptide_route *route);

/* As text; null if the family is 0. */
json_t *explanation_prefix(const struct riptide_prefix *prefix);

/* How the window was computed. NULL: no memory. */
json_t *explanation_window(const struct riptide_estimate *estimate, uint64_t ttl_ns,
                           uint64_t now_ns);

/* How many connections a dump had, and those that a policy left out, by reason. */
json_t *explanation_seen(const struct riptide_estimate *estimate);

/* A hint, and its remaining time. */
json_t *explanation_hint(const struct riptide_hint *hint, uint64_t now_ns);

/* A route, or a window of the program. */
json_t *explanation_route(const struct riptide_route *route);

/* A row of a long list, and how it is read back. */
struct explanation_row {
    struct riptide_prefix dst;
    char state[16];
    uint32_t initcwnd; /* in the kernel, segments */
    uint32_t cwnd;     /* as wanted; 0: no window */
    uint32_t connections;
    uint32_t initrwnd; /* requested by the program, segments; 0: none */
    char reason[96];   /* empty: none */
};

json_t *explanation_row(const struct riptide_route *route, const struct riptide_estimate *estimate,
                        uint32_t initrwnd);

/* False if it is invalid. */
bool explanation_read_row(struct explanation_row *row, const json_t *text);

/* The size of explanation_manager's text. */
#define EXPLANATION_MANAGER_BYTES 160

/* Who manages the network namespace where no riptided answers, by its process: null, 0: hidden. */
const char *explanation_manager(char text[EXPLANATION_MANAGER_BYTES], const json_t *holder);

/*
 * How the connections of a document of `riptide show DST` (docs/schema/explain.json) start, and why
 * not with a window, in one sentence, which the caller frees. NULL: no memory.
 */
char *explanation_sentence(const json_t *document);

#endif
