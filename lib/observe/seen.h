/* SPDX-License-Identifier: MIT */
/*
 * Which sockets an earlier dump has shown, by the order of their cookies, in 16 KB. Pure.
 *
 * The kernel gives a socket its cookie at the first request for it: by a dump, or for the destroy
 * event. Cookies count up from 1, on each processor within a block that it has reserved
 * (include/linux/cookie.h). So up to the highest one that dumps have shown of a block its sockets
 * were shown, and above it they were not. Where a program asks for cookies early, as ours does when
 * a connection is opened, one that a dump met before it was established counts as shown.
 */
#ifndef RIPTIDE_LIB_OBSERVE_SEEN_H
#define RIPTIDE_LIB_OBSERVE_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    SEEN_COOKIES_PER_BLOCK = 4096, /* COOKIE_LOCAL_BATCH */
    SEEN_BLOCKS = 1024,            /* kept apart; a power of two */
};

/* All zero: nothing was shown. */
struct seen {
    uint64_t settled[SEEN_BLOCKS]; /* per block: up to this cookie its sockets count as shown */
    uint64_t highest[SEEN_BLOCKS]; /* the highest one, with those of the present dump */
};

static inline size_t seen_block(uint64_t cookie)
{
    return (cookie - 1) / SEEN_COOKIES_PER_BLOCK % SEEN_BLOCKS;
}

/* Cookies that an interrupt requested count down from 2^64: such sockets never count as shown. */
static inline bool seen_is_counted(uint64_t cookie)
{
    return cookie - 1 < UINT64_C(1) << 48;
}

/* The present dump shows it. Inline, like seen_contains, as they run for every socket. */
static inline void seen_add(struct seen *seen, uint64_t cookie)
{
    uint64_t *highest = &seen->highest[seen_block(cookie)];

    if (seen_is_counted(cookie) && cookie > *highest)
        *highest = cookie;
}

/* From now on all that was added counts. */
static inline void seen_settle(struct seen *seen)
{
    memcpy(seen->settled, seen->highest, sizeof(seen->settled));
}

static inline bool seen_contains(const struct seen *seen, uint64_t cookie)
{
    return seen_is_counted(cookie) && cookie <= seen->settled[seen_block(cookie)];
}

/*
 * The kernel has just given this cookie, so no dump has shown it. If it counts as shown, cookies do
 * not count up as assumed here, and nothing is known: what has closed may count twice.
 */
static inline void seen_check(struct seen *seen, uint64_t fresh)
{
    if (seen_contains(seen, fresh))
        memset(seen, 0, sizeof(*seen));
}

#endif
