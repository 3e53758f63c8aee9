/* SPDX-License-Identifier: MIT */
/* The set of cookies; see seen.h. */
#include "observe/seen.h"

#include <string.h>

/* Four bits of 64, chosen by the low bits of the hash; its high bits choose the word. */
static uint64_t bits_of(uint64_t hash)
{
    return UINT64_C(1) << (hash & 63) | UINT64_C(1) << (hash >> 6 & 63) |
           UINT64_C(1) << (hash >> 12 & 63) | UINT64_C(1) << (hash >> 18 & 63);
}

static size_t word_of(uint64_t hash)
{
    return (hash >> 32) % SEEN_WORDS;
}

/*
 * A few cookies count down from 2^64. As the highest of its block such a one would make all later
 * ones count as seen.
 */
static bool counts_down(uint64_t cookie)
{
    return cookie > INT64_MAX;
}

static void clear_fresh(struct seen *seen)
{
    memset(seen->fresh, 0, sizeof(seen->fresh));
    seen->n_fresh = 0;
}

void seen_begin(struct seen *seen, bool may_settle)
{
    memset(seen->recent, 0, sizeof(seen->recent));
    if (seen->n_fresh > (may_settle ? 0 : SEEN_MAX_FRESH)) {
        memcpy(seen->settled, seen->highest, sizeof(seen->settled));
        clear_fresh(seen);
    }
    seen->is_shared = seen->n_fresh > 0;
}

void seen_discard(struct seen *seen)
{
    memset(seen->recent, 0, sizeof(seen->recent));
    if (seen->is_shared || seen->n_fresh == 0)
        return;
    memcpy(seen->highest, seen->settled, sizeof(seen->highest));
    clear_fresh(seen);
}

void seen_add_fresh(struct seen *seen, uint64_t cookie)
{
    uint64_t *highest = &seen->highest[seen_block(cookie)];
    uint64_t hash = seen_hash(cookie), bits = bits_of(hash), *word = &seen->fresh[word_of(hash)];

    if (counts_down(cookie))
        return;
    if (cookie > *highest)
        *highest = cookie;
    seen->n_fresh += (*word & bits) != bits;
    *word |= bits;
}

bool seen_contains(const struct seen *seen, uint64_t cookie)
{
    size_t block = seen_block(cookie);
    uint64_t hash = seen_hash(cookie), bits = bits_of(hash);

    if (counts_down(cookie))
        return true;
    if (cookie == 0 || cookie > seen->highest[block])
        return false;
    return cookie <= seen->settled[block] || (seen->fresh[word_of(hash)] & bits) == bits;
}
