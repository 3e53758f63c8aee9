/* SPDX-License-Identifier: MIT */
/* The names of all built-in policies. tests/netns/test_manual.py compares them with lib/compute. */
#ifndef TESTS_UNIT_POLICIES_H
#define TESTS_UNIT_POLICIES_H

static const char *const policies[] = { "paper", "bdp", "careful" };

enum { N_POLICIES = sizeof(policies) / sizeof(policies[0]) };

#endif
