/* SPDX-License-Identifier: MIT */
/*
 * The agent's hints that have an end. The agent has no walk over its hints: those are read from the
 * text of its state.
 */
#ifndef CLI_HINTS_H
#define CLI_HINTS_H

#include <riptide/agent.h>

struct hints {
    struct riptide_agent *agent;
    struct riptide_hint list[RIPTIDE_MAX_HINTS];
    size_t n;
};

/* Reads the agent's anew. */
void hints_read(struct hints *hints);

/*
 * Gives a hint, or a section of the file, to the agent, as riptide_agent_set_hint; the line of an
 * error names the destination and the option that it depends on.
 */
int hints_add(struct hints *hints, const struct riptide_hint *hint, struct riptide_error *error);

/* Drops those that have ended. Returns how many are in force. */
size_t hints_count(struct hints *hints);

/* The one in force for exactly that prefix; NULL: none. */
const struct riptide_hint *hints_find(struct hints *hints, const struct riptide_prefix *dst);

#endif
