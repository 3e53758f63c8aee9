/* SPDX-License-Identifier: MIT */
/*
 * The table of entries keyed by prefix. Removal shifts its bucket's followers back, so that there
 * are no tombstones and a table that lives for years stays as fast as a new one.
 */
#include "prefix_table.h"

#include "prefix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Entries of whole cache lines are aligned, to touch as few lines as possible. */
enum { MIN_CAPACITY = 16, CACHE_LINE_BYTES = 64 };

/* A free slot has family 0, and the next free slot's number in place of the address. */
static inline struct riptide_prefix *key_at(const struct prefix_table *table, uint32_t slot)
{
    return prefix_table_at(table, slot);
}

/* The finalizer of MurmurHash3 (public domain), keyed by the seed. */
static inline uint64_t mix(uint64_t h, uint64_t word, uint64_t seed)
{
    h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd) + seed;
    h = (h ^ h >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return h ^ h >> 33;
}

/*
 * IPv4 addresses are in the first word only. Skipping the second for them would cost more on a host
 * with both families: a branch that cannot be predicted.
 */
static inline uint32_t hash(const struct prefix_table *table, const struct riptide_prefix *key)
{
    uint64_t words[2], h = table->seed ^ ((uint64_t)key->family << 8 | key->len);

    memcpy(words, key->addr, sizeof(words));
    h = mix(h, words[0], table->seed);
    h = mix(h, words[1], table->seed);
    return (uint32_t)h;
}

void prefix_table_init(struct prefix_table *table, size_t entry_bytes, uint32_t max)
{
    *table = (struct prefix_table){
        .entry_bytes = entry_bytes, .max = max, .seed = (uintptr_t)table, .free = PREFIX_TABLE_NONE
    };
}

void prefix_table_deinit(struct prefix_table *table)
{
    free(table->block);
    free(table->buckets);
    prefix_table_init(table, table->entry_bytes, table->max);
}

/*
 * A bucket has the slot in the bits that select a bucket, and bits of the hash above them, so that
 * other keys are skipped without reading their entries, each of which is a cache line.
 */
static inline uint32_t slot_in(const struct prefix_table *table, uint32_t bucket)
{
    return table->buckets[bucket] & (2 * table->capacity - 1);
}

/* The bucket with the key, or the empty one for it. */
static inline uint32_t bucket_of(const struct prefix_table *table, const struct riptide_prefix *key,
                                 uint32_t h)
{
    uint32_t mask = 2 * table->capacity - 1, b = h & mask;

    while (table->buckets[b] != PREFIX_TABLE_NONE &&
           ((table->buckets[b] ^ h) > mask || !prefix_equal(key_at(table, slot_in(table, b)), key)))
        b = (b + 1) & mask;
    return b;
}

static void put(struct prefix_table *table, uint32_t slot)
{
    const struct riptide_prefix *key = key_at(table, slot);
    uint32_t h = hash(table, key);

    table->buckets[bucket_of(table, key, h)] = (h & ~(2 * table->capacity - 1)) | slot;
}

uint32_t prefix_table_find(const struct prefix_table *table, const struct riptide_prefix *key)
{
    uint32_t b;

    if (table->n == 0)
        return PREFIX_TABLE_NONE;
    b = bucket_of(table, key, hash(table, key));
    return table->buckets[b] == PREFIX_TABLE_NONE ? PREFIX_TABLE_NONE : slot_in(table, b);
}

void prefix_table_guess(const struct prefix_table *table, const struct riptide_prefix *const *keys,
                        size_t n, uint32_t *slots)
{
    uint32_t mask = 2 * table->capacity - 1;

    if (table->n == 0) {
        memset(slots, 0xff, n * sizeof(*slots));
        return;
    }
    /*
     * Reading a bucket waits for memory: so first all of them are prefetched, with the hashes kept
     * in `slots`.
     */
    for (size_t i = 0; i < n; i++) {
        slots[i] = hash(table, keys[i]);
        __builtin_prefetch(&table->buckets[slots[i] & mask]);
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t h = slots[i], b = h & mask;

        /* Later buckets are next to the first. */
        while (table->buckets[b] != PREFIX_TABLE_NONE && (table->buckets[b] ^ h) > mask)
            b = (b + 1) & mask;
        slots[i] = table->buckets[b];
        if (slots[i] == PREFIX_TABLE_NONE)
            continue;
        slots[i] &= mask;
        __builtin_prefetch(key_at(table, slots[i]), 1);
    }
}

/*
 * Doubles the slots; buckets are kept at twice the slots, so at most half are in use. By realloc,
 * which moves the pages of a large table instead of copying them: two copies at once would be the
 * peak of an agent's memory.
 */
static int grow(struct prefix_table *table)
{
    uint32_t capacity = table->capacity ? table->capacity * 2 : MIN_CAPACITY;
    size_t before = (size_t)(table->entries - table->block), after;
    size_t buckets_bytes = (size_t)capacity * 2 * sizeof(*table->buckets);
    uint32_t *buckets = malloc(buckets_bytes);
    unsigned char *block = NULL;

    if (buckets)
        block = realloc(table->block, capacity * table->entry_bytes + CACHE_LINE_BYTES);
    if (!block) {
        free(buckets);
        return -ENOMEM;
    }
    after = -(uintptr_t)block % CACHE_LINE_BYTES;
    if (after != before)
        memmove(block + after, block + before, table->n_slots * table->entry_bytes);
    table->block = block;
    table->entries = block + after;
    table->capacity = capacity;
    free(table->buckets);
    table->buckets = buckets;
    memset(buckets, 0xff, buckets_bytes);
    for (uint32_t slot = 0; slot < table->n_slots; slot++)
        put(table, slot);
    return 0;
}

int prefix_table_insert(struct prefix_table *table, const struct riptide_prefix *key,
                        uint32_t *slotp)
{
    uint32_t slot = prefix_table_find(table, key);
    int r = 0;

    if (slot != PREFIX_TABLE_NONE) {
        *slotp = slot;
        return 0;
    }
    if (table->n >= table->max)
        return RIPTIDE_E_FULL;
    slot = table->free;
    if (slot != PREFIX_TABLE_NONE) {
        memcpy(&table->free, key_at(table, slot)->addr, sizeof(table->free));
    } else {
        if (table->n_slots == table->capacity)
            r = grow(table);
        if (r < 0)
            return r;
        slot = table->n_slots++;
    }
    memset(prefix_table_at(table, slot), 0, table->entry_bytes);
    *key_at(table, slot) = *key;
    put(table, slot);
    table->n++;
    *slotp = slot;
    return 0;
}

void prefix_table_remove(struct prefix_table *table, uint32_t slot)
{
    const struct riptide_prefix *key = key_at(table, slot);
    uint32_t mask = 2 * table->capacity - 1, hole = bucket_of(table, key, hash(table, key));

    /* Move back each follower whose home is at or before the hole (cyclically). */
    for (uint32_t b = (hole + 1) & mask; table->buckets[b] != PREFIX_TABLE_NONE;
         b = (b + 1) & mask) {
        uint32_t home = hash(table, key_at(table, slot_in(table, b))) & mask;

        if (((b - home) & mask) >= ((b - hole) & mask)) {
            table->buckets[hole] = table->buckets[b];
            hole = b;
        }
    }
    table->buckets[hole] = PREFIX_TABLE_NONE;
    memset(key_at(table, slot), 0, sizeof(struct riptide_prefix));
    memcpy(key_at(table, slot)->addr, &table->free, sizeof(table->free));
    table->free = slot;
    table->n--;
}

uint32_t prefix_table_next(const struct prefix_table *table, uint32_t slot)
{
    while (slot < table->n_slots && key_at(table, slot)->family == 0)
        slot++;
    return slot < table->n_slots ? slot : PREFIX_TABLE_NONE;
}
