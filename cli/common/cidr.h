/* SPDX-License-Identifier: MIT */
/* Prefixes within prefixes. Pure. */
#ifndef CLI_CIDR_H
#define CLI_CIDR_H

#include <riptide/riptide.h>

/* How many bits an address of that family has. */
uint8_t cidr_count_bits(uint8_t family);

/* The first `len` bits of a prefix, which must have at least as many. */
struct riptide_prefix cidr_cut(const struct riptide_prefix *prefix, uint8_t len);

/* Whether each address of the inner prefix is one of the outer one. */
bool cidr_contains(const struct riptide_prefix *outer, const struct riptide_prefix *inner);

#endif
