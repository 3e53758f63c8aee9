/* SPDX-License-Identifier: MIT */
/*
 * A target, for libFuzzer and for replay.c: a function that takes any bytes, aborts if a property
 * does not hold, and returns 0. Numbers are taken from the front of its bytes.
 */
#ifndef RIPTIDE_FUZZ_TARGET_H
#define RIPTIDE_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Behind the end everything is 0. */
struct case_bytes {
    const uint8_t *at;
    size_t left;
};

#define CASE_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static inline uint8_t case_u8(struct case_bytes *bytes)
{
    if (bytes->left == 0)
        return 0;
    bytes->left--;
    return *bytes->at++;
}

/* The next n bytes, or as many as there are, in memory of their own size: free it. */
static inline void *case_copy(struct case_bytes *bytes, size_t n, size_t *np)
{
    char *copy;

    *np = n < bytes->left ? n : bytes->left;
    copy = malloc(*np ? *np : 1);
    CASE_CHECK(copy);
    for (size_t i = 0; i < *np; i++)
        copy[i] = (char)case_u8(bytes);
    return copy;
}

#endif
