/* SPDX-License-Identifier: MIT */
/*
 * The ways of computing a window that the library has, for people and as JSON.
 */
#ifndef CLI_POLICIES_H
#define CLI_POLICIES_H

#include <jansson.h>

void policies_print(void);

/* NULL without memory. */
json_t *policies_to_json(void);

#endif
