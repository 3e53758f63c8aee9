/*
 * The sets of cookies; see seen.h. Two of them, because what closed just before a dump began may be
 * heard of only behind it.
 */
#include "observe/seen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    MIN_WORDS = 4096,
    MAX_WORDS = SEEN_FILTER_MAX_BYTES / sizeof(uint64_t),
    COOKIES_PER_WORD = 4,
};

/* Four of 64 bits: from the bottom of the hash, where the word is chosen by its top. */
static uint64_t bits_of(uint64_t hash)
{
    return UINT64_C(1) << (hash & 63) | UINT64_C(1) << (hash >> 6 & 63) |
           UINT64_C(1) << (hash >> 12 & 63) | UINT64_C(1) << (hash >> 18 & 63);
}

static uint64_t *word_of(const struct seen_filter *filter, uint64_t hash)
{
    return &filter->words[(hash >> 32) & (filter->n_words - 1)];
}

static bool filter_contains(const struct seen_filter *filter, uint64_t hash)
{
    uint64_t bits = bits_of(hash);

    return filter->n_words > 0 && (*word_of(filter, hash) & bits) == bits;
}

static void filter_clear(struct seen_filter *filter)
{
    if (filter->n > 0)
        memset(filter->words, 0, filter->n_words * sizeof(*filter->words));
    filter->n = 0;
}

/* Empties the filter and makes it fit `expected` cookies. */
static int filter_begin(struct seen_filter *filter, uint64_t expected)
{
    size_t n_words = MIN_WORDS;

    while (n_words < MAX_WORDS && n_words * COOKIES_PER_WORD < expected)
        n_words *= 2;
    filter_clear(filter);
    if (n_words > filter->capacity) {
        uint64_t *words = calloc(n_words, sizeof(*words));

        if (!words)
            return -ENOMEM;
        free(filter->words);
        filter->words = words;
        filter->capacity = n_words;
    }
    filter->n_words = n_words;
    return 0;
}

void seen_deinit(struct seen *seen)
{
    free(seen->filters[0].words);
    free(seen->filters[1].words);
    *seen = (struct seen){ .is_filtering = false };
}

int seen_begin(struct seen *seen, bool may_forget)
{
    struct seen_filter *filter = &seen->filters[seen->current];
    uint64_t expected = filter->n;
    bool is_kept; /* as it is: empty, and the one before is still needed */

    memset(seen->recent, 0, sizeof(seen->recent));
    seen->is_shared = filter->n > 0 && !may_forget;
    is_kept = filter->n == 0 && filter->n_words > 0 && (seen->is_void || !may_forget);
    seen->is_void = false;
    if (!seen->is_filtering || seen->is_shared || is_kept)
        return 0;
    seen->current ^= 1;
    return filter_begin(&seen->filters[seen->current], expected);
}

void seen_discard(struct seen *seen)
{
    memset(seen->recent, 0, sizeof(seen->recent));
    seen->is_void = true;
    if (!seen->is_shared)
        filter_clear(&seen->filters[seen->current]);
}

void seen_filter_add(struct seen *seen, uint64_t hash)
{
    struct seen_filter *filter = &seen->filters[seen->current];

    if (filter->n_words == 0)
        return;
    *word_of(filter, hash) |= bits_of(hash);
    filter->n++;
}

bool seen_contains(const struct seen *seen, uint64_t cookie)
{
    uint64_t hash = seen_hash(cookie);

    return filter_contains(&seen->filters[0], hash) || filter_contains(&seen->filters[1], hash);
}
