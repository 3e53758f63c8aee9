/* SPDX-License-Identifier: MIT */
/*
 * Which lines of a log are written, and which are only counted, when one kind of message comes
 * again and again. Pure. A kind is the address of its format string.
 *
 * The rule: of each kind REPEATS_BURST lines a minute. The minute begins with the first of them;
 * the last of those that were held back is written when it is over, with their number.
 */
#ifndef CLI_REPEATS_H
#define CLI_REPEATS_H

#include <stdint.h>

enum {
    REPEATS_BURST = 50,
    REPEATS_KINDS = 64, /* more than there are messages; one beyond that is never held back */
    REPEATS_TEXT_BYTES = 256,
};

#define REPEATS_INTERVAL_NS UINT64_C(60000000000)

struct repeat {
    const void *kind; /* NULL: this one and those behind it are free */
    uint64_t since_ns;
    uint32_t n;    /* lines since then */
    uint32_t held; /* of these, not written */
    int level;     /* the caller's, of the last that was held back; so is its text */
    char text[REPEATS_TEXT_BYTES];
};

struct repeats {
    struct repeat kinds[REPEATS_KINDS];
};

/* NULL: the line may be written. Else it was counted, and its level and text belong here. */
struct repeat *repeats_hold(struct repeats *repeats, const void *kind, uint64_t now_ns);

/*
 * The next kind that has held something back and whose minute is over at `now_ns` (UINT64_MAX: all
 * of them, at the end). Its `held` was set to 0 and is in *held; NULL: there is none.
 */
const struct repeat *repeats_due(struct repeats *repeats, uint64_t now_ns, uint32_t *held);

#endif
