/* SPDX-License-Identifier: MIT */
/* The agent's hints that have an end. Sections of the file are hints without one. */
#ifndef CLI_HINTS_H
#define CLI_HINTS_H

#include <riptide/agent.h>
#include <stdbool.h>

/*
 * Gives a hint, or a section of the file, to the agent, as riptide_agent_set_hint; the line of an
 * error names the destination and the option that it depends on.
 */
int hints_add(struct riptide_agent *agent, const struct riptide_hint *hint,
              struct riptide_error *error);

/* Walks over those in force; *cursor begins at 0. Returns whether there is another one. */
bool hints_next(const struct riptide_agent *agent, uint32_t *cursor, struct riptide_hint *hint);

/* How many are in force. */
size_t hints_count(const struct riptide_agent *agent);

/* Finds the one in force for exactly that prefix. Returns whether there is one. */
bool hints_find(const struct riptide_agent *agent, const struct riptide_prefix *dst,
                struct riptide_hint *hint);

#endif
