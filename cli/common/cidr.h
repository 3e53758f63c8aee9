/* SPDX-License-Identifier: MIT */
/* Prefixes within prefixes. Pure. */
#ifndef CLI_CIDR_H
#define CLI_CIDR_H

#include <riptide/riptide.h>

/* How many bits an address of that family has. */
uint8_t cidr_count_bits(uint8_t family);

/* Whether each address of the inner prefix is one of the outer one. */
bool cidr_contains(const struct riptide_prefix *outer, const struct riptide_prefix *inner);

#endif
