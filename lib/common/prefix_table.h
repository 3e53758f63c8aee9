/* SPDX-License-Identifier: MIT */
/*
 * A table of entries keyed by prefix: a dense array that grows, found by a seeded hash. Pure except
 * for memory. An entry is any struct whose first member is its struct riptide_prefix. A slot is its
 * number until it is removed; pointers are valid until the table grows.
 */
#ifndef RIPTIDE_LIB_PREFIX_TABLE_H
#define RIPTIDE_LIB_PREFIX_TABLE_H

#include <riptide/riptide.h>

#define PREFIX_TABLE_NONE UINT32_MAX

struct prefix_table {
    size_t entry_bytes;
    uint64_t seed;
    uint32_t max;           /* entries */
    uint32_t n;             /* entries in use */
    unsigned char *block;   /* memory, with room to align the entries in it */
    unsigned char *entries; /* at the beginning of a cache line */
    uint32_t n_slots;       /* slots ever used: all below are in use or in the free list */
    uint32_t capacity;      /* slots allocated */
    uint32_t free;          /* first of the free list, linked through the entries */
    uint32_t *buckets;      /* twice as many, of slots; open addressing with linear probing */
};

/* The seed is from the table's address, which peers that choose their own cannot know. */
void prefix_table_init(struct prefix_table *table, size_t entry_bytes, uint32_t max);
void prefix_table_deinit(struct prefix_table *table);

/* The entry of a slot in use. */
static inline void *prefix_table_at(const struct prefix_table *table, uint32_t slot)
{
    return table->entries + (size_t)slot * table->entry_bytes;
}

/* The slot of that key, or PREFIX_TABLE_NONE. */
uint32_t prefix_table_find(const struct prefix_table *table, const struct riptide_prefix *key);

/*
 * The probable slot of each of n keys, or PREFIX_TABLE_NONE: compare the entry's key, which this
 * function does not read, to avoid waiting for memory. It prefetches the buckets of all keys, then
 * all entries.
 */
void prefix_table_guess(const struct prefix_table *table, const struct riptide_prefix *const *keys,
                        size_t n, uint32_t *slots);

/* The slot of that key; a new entry has only its key. Outcomes: RIPTIDE_E_FULL. Errors: -ENOMEM. */
int prefix_table_insert(struct prefix_table *table, const struct riptide_prefix *key,
                        uint32_t *slotp);

void prefix_table_remove(struct prefix_table *table, uint32_t slot);

/* The first used slot from `slot` on, or PREFIX_TABLE_NONE. */
uint32_t prefix_table_next(const struct prefix_table *table, uint32_t slot);

#endif
