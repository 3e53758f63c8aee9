/* SPDX-License-Identifier: MIT */
/*
 * Included by every unit test: cmocka with its requirements, and a main that runs each TEST of the
 * file in order.
 */
#ifndef RIPTIDE_TESTS_UNIT_H
#define RIPTIDE_TESTS_UNIT_H

#include <errno.h>
#include <linux/netlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <riptide/riptide.h>

static struct CMUnitTest unit_tests[64];
static size_t unit_n_tests;
static uint64_t unit_random = 1;
static __attribute__((unused)) size_t unit_row;

#define S  UINT64_C(1000000000)
#define MS UINT64_C(1000000)

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* A row of the table after the other; assert_row says which one it was. */
#define EACH(row, table)                                                                           \
    for (__typeof__(&(table)[0]) row = (table);                                                    \
         unit_row = (size_t)(row - (table)), unit_row < COUNT(table); row++)

#define assert_row(condition)                                                                      \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail_msg("row %zu: not so: %s", unit_row, #condition);                                 \
    } while (0)

/* A test, followed by its body; set_up runs before it and tear_down after it. */
#define TEST_WITH(function, set_up, tear_down)                                                     \
    static void function(void **state);                                                            \
    __attribute__((constructor)) static void add_##function(void)                                  \
    {                                                                                              \
        if (unit_n_tests == COUNT(unit_tests))                                                     \
            abort();                                                                               \
        unit_tests[unit_n_tests++] =                                                               \
            (struct CMUnitTest){ #function, function, set_up, tear_down, NULL };                   \
    }                                                                                              \
    static void function(void **state)

#define TEST(function) TEST_WITH(function, NULL, NULL)

/*
 * Skips the whole file where there are no such sockets, as for programs that qemu emulates.
 * Its constructor comes before those of the tests, and before their output.
 */
#define NEEDS_NETLINK(protocol)                                                                    \
    __attribute__((constructor)) static void need_##protocol(void)                                 \
    {                                                                                              \
        int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);                            \
                                                                                                   \
        if (fd < 0 && errno == EPROTONOSUPPORT) {                                                  \
            puts("1..0 # SKIP no sockets of " #protocol " here");                                  \
            exit(0);                                                                               \
        }                                                                                          \
        close(fd);                                                                                 \
    }

/* For CLEANUP on a pointer from malloc. */
static inline void freep(void *pointerp)
{
    free(*(void **)pointerp);
}

/* Both may be NULL. */
static inline void assert_text(const char *text, const char *expected)
{
    if (!text != !expected || (text && strcmp(text, expected) != 0))
        fail_msg("row %zu: `%s`, not `%s`", unit_row, text ? text : "", expected ? expected : "");
}

/* Puts one end of a socket pair behind the fd; the other end answers in the kernel's stead. */
static inline int stand_in_for_kernel(int fd)
{
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    assert_true(dup2(pair[0], fd) >= 0);
    close(pair[0]);
    return pair[1];
}

/* Prints the seed; SEED=N in the environment has another one drawn from. */
static inline void seed_with(unsigned int seed)
{
    const char *text = getenv("SEED");

    if (text)
        seed = (unsigned int)strtoul(text, NULL, 10);
    print_message("# seed %u\n", seed);
    unit_random = seed + UINT64_C(0x9e3779b97f4a7c15);
}

/* Another one in each run, for what must hold whatever is drawn. */
#define seed_random() seed_with((unsigned int)time(NULL))

/* The same in each run, for what chance could fail. */
#define seed_fixed() seed_with(1)

/* xorshift64 */
static inline uint64_t draw(void)
{
    unit_random ^= unit_random << 13;
    unit_random ^= unit_random >> 7;
    unit_random ^= unit_random << 17;
    return unit_random;
}

static inline uint32_t below(uint32_t n)
{
    return (uint32_t)(draw() >> 32) % n;
}

static inline struct riptide_prefix prefix(const char *text)
{
    struct riptide_prefix parsed;

    if (riptide_prefix_parse(&parsed, text) != 0)
        fail_msg("%s is refused", text);
    return parsed;
}

/* A pointer to it, which is there until the end of the block. */
#define prefix_at(text) ((struct riptide_prefix[]){ prefix(text) })

int main(void)
{
    return _cmocka_run_group_tests("tests", unit_tests, unit_n_tests, NULL, NULL);
}

#endif
