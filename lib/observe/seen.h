/* SPDX-License-Identifier: MIT */
/*
 * Which sockets were handed out already, by their cookies, in bounded memory: so that none counts
 * twice in a dump, and none that a dump has counted counts again when it closes. Pure.
 *
 * The kernel gives a socket its cookie at the first request for it: by a dump, or for the destroy
 * event. Cookies count up, on each processor within a block that it has reserved
 * (include/linux/cookie.h). So a socket that no dump has shown closes with a cookie above all
 * cookies of that block that dumps had shown before, and the highest of these is enough to keep.
 * Where this does not hold, as with cookies that another program requested early, an unseen socket
 * may be taken for a seen one, never the reverse. The same is true of cookies that an interrupt
 * requested while the same processor was creating one: these few count down from the largest
 * number.
 */
#ifndef RIPTIDE_LIB_OBSERVE_SEEN_H
#define RIPTIDE_LIB_OBSERVE_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SEEN_COOKIES_PER_BLOCK = 4096, /* COOKIE_LOCAL_BATCH */
    SEEN_BLOCKS = 1024,            /* blocks kept apart; a power of two */
    SEEN_WORDS = 16384,            /* a power of two */
    SEEN_MAX_FRESH = 8 * SEEN_WORDS,
};

/* All zero: only `recent` is used. */
struct seen {
    bool is_filtering;
    bool is_shared;                /* `fresh` contains cookies of earlier dumps as well */
    uint32_t n_fresh;              /* cookies in `fresh` */
    uint64_t settled[SEEN_BLOCKS]; /* per block: all cookies up to this one count as seen */
    uint64_t highest[SEEN_BLOCKS]; /* per block: the highest one seen */
    /*
     * A Bloom filter of cookies seen above `settled`, four bits of one word for each. With two
     * bytes per cookie one in 200 lookups is a false positive, at SEEN_MAX_FRESH one in 30.
     */
    uint64_t fresh[SEEN_WORDS];
    uint64_t recent[1024]; /* of the present dump, indexed by the cookie's hash */
};

/*
 * A dump begins. `may_settle`: all events of sockets that closed before the last dump ended have
 * been read, so a later event has either a cookie that was seen, or one higher than all of those.
 * Otherwise `fresh` keeps filling up; when it is full it is settled all the same.
 */
void seen_begin(struct seen *seen, bool may_settle);

/* The present dump is void: its sockets do not count as seen, unless `fresh` is shared. */
void seen_discard(struct seen *seen);

/* Cookies count up: their low bits would spread well over the words, but badly over the bits. */
static inline uint64_t seen_hash(uint64_t cookie)
{
    cookie = (cookie ^ cookie >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return (cookie ^ cookie >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
}

/* The first cookie is 1. */
static inline size_t seen_block(uint64_t cookie)
{
    return (cookie - 1) / SEEN_COOKIES_PER_BLOCK % SEEN_BLOCKS;
}

void seen_add_fresh(struct seen *seen, uint64_t cookie);

/*
 * Whether the present dump has had this socket already; records it. The kernel drops its locks
 * between the sockets of a full hash bucket and may repeat some: always the last ones. Inline,
 * since it runs for every socket of the host.
 */
static inline bool seen_add(struct seen *seen, uint64_t cookie)
{
    uint64_t *recent = &seen->recent[seen_hash(cookie) >> 54];

    if (*recent == cookie && cookie != 0)
        return true;
    *recent = cookie;
    if (seen->is_filtering && cookie > seen->settled[seen_block(cookie)])
        seen_add_fresh(seen, cookie);
    return false;
}

/* Whether any dump, however long ago, may have had this socket. */
bool seen_contains(const struct seen *seen, uint64_t cookie);

#endif
