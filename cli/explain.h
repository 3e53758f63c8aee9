/* SPDX-License-Identifier: MIT */
#ifndef CLI_EXPLAIN_H
#define CLI_EXPLAIN_H

#include "commands.h"

/*
 * Prints how the window of a destination comes about; *statusp is the exit status. Outcomes:
 * RIPTIDE_E_UNKNOWN: the prefix holds several destinations, and nothing is printed.
 */
int explain(const struct command_options *options, const struct riptide_prefix *dst, int *statusp);

/* Prints its document, as docs/schema/explain.json describes it. */
void explain_print(const json_t *document);

#endif
