/* SPDX-License-Identifier: MIT */
/*
 * What every unit test includes: cmocka with what it needs, and a main that runs each TEST of the
 * file in their order.
 */
#ifndef RIPTIDE_TESTS_UNIT_H
#define RIPTIDE_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static struct CMUnitTest unit_tests[64];
static size_t unit_n_tests;

static inline void unit_add(struct CMUnitTest test)
{
    if (unit_n_tests == sizeof(unit_tests) / sizeof(*unit_tests))
        abort();
    unit_tests[unit_n_tests++] = test;
}

/* A test, followed by its body; set_up runs before it and tear_down behind it. */
#define TEST_WITH(function, set_up, tear_down)                                                     \
    static void function(void **state);                                                            \
    __attribute__((constructor)) static void add_##function(void)                                  \
    {                                                                                              \
        unit_add((struct CMUnitTest){ #function, function, set_up, tear_down, NULL });             \
    }                                                                                              \
    static void function(void **state)

#define TEST(function) TEST_WITH(function, NULL, NULL)

/* Another one in each run; it is printed, and SEED=N in the environment repeats it. */
static inline void seed_random(void)
{
    const char *text = getenv("SEED");
    unsigned int seed = text ? (unsigned int)strtoul(text, NULL, 10) : (unsigned int)time(NULL);

    print_message("# seed %u\n", seed);
    srandom(seed);
}

static inline uint32_t below(uint32_t n)
{
    return (uint32_t)random() % n;
}

int main(void)
{
    return _cmocka_run_group_tests("tests", unit_tests, unit_n_tests, NULL, NULL);
}

#endif
