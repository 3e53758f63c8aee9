/*
 * Which sockets were handed out already, by their cookies, in bounded memory: so that none counts
 * twice within a dump, and none that a dump has shown counts again when it closes. Pure but for
 * memory.
 */
#ifndef RIPTIDE_LIB_OBSERVE_SEEN_H
#define RIPTIDE_LIB_OBSERVE_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A filter is never larger than this; it takes two bytes for each socket of a dump. */
#define SEEN_FILTER_MAX_BYTES ((size_t)1024 * 1024)

/*
 * A Bloom filter whose cookies each have four bits of one word. It may take a cookie for one that
 * it holds, never the other way: at two bytes a socket for about one in 200, more as it fills up.
 */
struct seen_filter {
    uint64_t *words;
    size_t n_words;  /* a power of two; 0: none */
    size_t capacity; /* words allocated */
    uint64_t n;      /* cookies that were added */
};

/* All zero remembers the last ones of a dump alone. */
struct seen {
    bool is_filtering;
    bool is_shared;   /* the current filter holds cookies of earlier dumps as well */
    bool is_void;     /* the latest dump was: that its filter is empty says nothing */
    unsigned current; /* of the filters: the latest dump's, or latest dumps' */
    struct seen_filter filters[2];
    uint64_t recent[1024]; /* of the dump under way, in the place that the cookie's hash says */
};

void seen_deinit(struct seen *seen);

/*
 * A dump begins. With `may_forget` it has a filter of its own, and what was seen before the last
 * one began is forgotten; otherwise it shares that of the last dump, which errs more often as it
 * fills up. Errors: -ENOMEM; the filter stays as small as it was.
 */
int seen_begin(struct seen *seen, bool may_forget);

/* The dump under way is void: what it brought was not seen, unless its filter is shared. */
void seen_discard(struct seen *seen);

/* Cookies count up, so their low bits alone would fill the words evenly but their bits badly. */
static inline uint64_t seen_hash(uint64_t cookie)
{
    cookie = (cookie ^ cookie >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return (cookie ^ cookie >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
}

void seen_filter_add(struct seen *seen, uint64_t hash);

/*
 * Whether the dump under way has had this socket; if not, it has now. The kernel drops its locks
 * between the sockets of a full hash bucket and may repeat some: always the last ones. Inline,
 * since every socket of the host is asked about.
 */
static inline bool seen_add(struct seen *seen, uint64_t cookie)
{
    uint64_t hash = seen_hash(cookie);
    uint64_t *recent = &seen->recent[hash >> 54];

    if (*recent == cookie && cookie != 0)
        return true;
    *recent = cookie;
    if (seen->is_filtering)
        seen_filter_add(seen, hash);
    return false;
}

/* Whether a dump of either filter may have had this socket. */
bool seen_contains(const struct seen *seen, uint64_t cookie);

#endif
