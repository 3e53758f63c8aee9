/* SPDX-License-Identifier: MIT */
/*
 * The policies that live in files of their own; policy.c has the table.
 */
#ifndef RIPTIDE_LIB_COMPUTE_POLICY_H
#define RIPTIDE_LIB_COMPUTE_POLICY_H

#include <riptide/compute.h>

extern const struct riptide_policy policy_bdp;
extern const struct riptide_policy policy_careful;

#endif
