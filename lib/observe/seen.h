/* SPDX-License-Identifier: MIT */
/*
 * Which sockets were handed out already, by their cookies, in bounded memory: so that none counts
 * twice within a dump, and none that a dump has shown counts again when it closes. Pure.
 *
 * The kernel gives a socket its cookie when it is first asked about it: by a dump, or for the
 * notice of its end. Cookies count up, on each processor within a block that it has taken for
 * itself (include/linux/cookie.h). So what no dump has shown closes with a cookie above those which
 * dumps had shown of that block by then, and of all these the highest is enough. Where that is not
 * so, as with cookies that somebody else asked for early, a socket may be taken for one that was
 * shown, never the other way. So are all that were asked about by an interrupt while the same
 * processor was giving a cookie: these few count down, from the largest number on.
 */
#ifndef RIPTIDE_LIB_OBSERVE_SEEN_H
#define RIPTIDE_LIB_OBSERVE_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SEEN_COOKIES_PER_BLOCK = 4096, /* COOKIE_LOCAL_BATCH */
    SEEN_BLOCKS = 1024,            /* told apart; a power of two */
    SEEN_WORDS = 16384,            /* a power of two */
    SEEN_MAX_FRESH = 8 * SEEN_WORDS,
};

/* All zero remembers the last ones of a dump alone. */
struct seen {
    bool is_filtering;
    bool is_shared;                /* `fresh` holds cookies of earlier dumps as well */
    uint32_t n_fresh;              /* cookies in `fresh` */
    uint64_t settled[SEEN_BLOCKS]; /* of each block, all up to this one count as shown */
    uint64_t highest[SEEN_BLOCKS]; /* that was shown at all */
    /* A Bloom filter of what was shown above `settled`, each with four bits of one word. At two
     * bytes a cookie it takes one in 200 for another that it holds, at SEEN_MAX_FRESH one in 30. */
    uint64_t fresh[SEEN_WORDS];
    uint64_t recent[1024]; /* of the dump under way, in the place that the cookie's hash says */
};

/*
 * A dump begins. With `may_settle` all that closed before the last one ended was asked about: a
 * later event is of a connection that was shown, or that has a higher cookie than all of those.
 * Otherwise `fresh` goes on filling up; what is too much for it is settled all the same.
 */
void seen_begin(struct seen *seen, bool may_settle);

/* The dump under way is void: what it brought was not seen, unless `fresh` is shared. */
void seen_discard(struct seen *seen);

/* Cookies count up, so their low bits alone would fill the words evenly but their bits badly. */
static inline uint64_t seen_hash(uint64_t cookie)
{
    cookie = (cookie ^ cookie >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return (cookie ^ cookie >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
}

/* The first cookie of all is 1. */
static inline size_t seen_block(uint64_t cookie)
{
    return (cookie - 1) / SEEN_COOKIES_PER_BLOCK % SEEN_BLOCKS;
}

void seen_add_fresh(struct seen *seen, uint64_t cookie);

/*
 * Whether the dump under way has had this socket; if not, it has now. The kernel drops its locks
 * between the sockets of a full hash bucket and may repeat some: always the last ones. Inline,
 * since every socket of the host is asked about.
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

/* Whether a dump, however long ago, may have had this socket. */
bool seen_contains(const struct seen *seen, uint64_t cookie);

#endif
