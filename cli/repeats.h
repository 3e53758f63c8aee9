/* SPDX-License-Identifier: MIT */
/*
 * Which lines of a log are written when one kind of message comes again and again: of each kind
 * REPEATS_BURST a minute, which begins with the first of them. Pure. A kind is the address of its
 * format string.
 */
#ifndef CLI_REPEATS_H
#define CLI_REPEATS_H

#include <stdint.h>

enum {
    REPEATS_BURST = 50,
    REPEATS_KINDS = 64, /* more than there are messages; one beyond that is always the first */
};

#define REPEATS_INTERVAL_NS UINT64_C(60000000000)

struct repeats {
    struct repeat {
        const void *kind; /* NULL: this one and those behind it are free */
        uint64_t since_ns;
        uint32_t n; /* lines since then */
    } kinds[REPEATS_KINDS];
};

/* Counts a line: the how manieth of its kind it is in its minute. */
uint32_t repeats_count(struct repeats *repeats, const void *kind, uint64_t now_ns);

#endif
