/* SPDX-License-Identifier: MIT */
/*
 * What standard output is: a terminal of some width, or a file or pipe that gets everything.
 */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include "table.h"

/* No width and no colour where it is no terminal; no colour where NO_COLOR asks for none. */
struct table_style terminal_style(void);

#endif
