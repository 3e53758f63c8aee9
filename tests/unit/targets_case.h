/* SPDX-License-Identifier: MIT */
/*
 * Targets in a table, for the tests of lib/apply/targets. Include it behind cmocka.h.
 */
#ifndef RIPTIDE_TESTS_TARGETS_CASE_H
#define RIPTIDE_TESTS_TARGETS_CASE_H

#include "apply/targets.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define NONE PREFIX_TABLE_NONE

static inline struct riptide_prefix dst_of(uint32_t i)
{
    return (struct riptide_prefix){ AF_INET, 32, { 10, 0, (uint8_t)(i >> 8), (uint8_t)i } };
}

static inline uint32_t get(struct targets *targets, uint32_t i)
{
    struct riptide_prefix dst = dst_of(i);
    uint32_t slot;

    assert_int_equal(targets_get(targets, &dst, &slot), 0);
    return slot;
}

/* A base that differs from others by its priority alone. */
static inline uint32_t hold(struct bases *bases, uint32_t priority, uint32_t initrwnd)
{
    struct base base;
    uint32_t number;

    memset(&base, 0, sizeof(base));
    base.priority = priority;
    base.initrwnd = initrwnd;
    assert_int_equal(bases_hold(bases, &base, &number), 0);
    return number;
}

#endif
