/* SPDX-License-Identifier: MIT */
/* lib/common/prefix_table against a model that cannot be wrong: an array with a place for every key. */
#include "prefix.h"
#include "prefix_table.h"
#include "unit.h"

#define NONE PREFIX_TABLE_NONE

enum { KEYS = 600, STEPS = 20000 };

struct entry {
    struct riptide_prefix key;
    uint64_t value;
};

struct model {
    bool is_there;
    uint32_t slot;
    uint64_t value;
};

/* Distinct keys that differ in family, only in length, or in one byte near the start or end. */
static struct riptide_prefix key_of(uint32_t i)
{
    struct riptide_prefix key = { .family = AF_INET, .len = 32 };
    uint8_t high = (uint8_t)(i / 4 >> 8), low = (uint8_t)(i / 4);

    if (i % 4 == 0) {
        memcpy(key.addr, (uint8_t[]){ 10, 0, high, low }, 4);
    } else if (i % 4 == 1) {
        key.len = 24;
        memcpy(key.addr, (uint8_t[]){ 10, high, low }, 3);
    } else {
        key.family = AF_INET6;
        key.len = i % 4 == 2 ? 128 : 127;
        key.addr[7] = high;
        key.addr[8] = low;
    }
    return key;
}

static void check(const struct prefix_table *table, const struct model *model)
{
    const struct riptide_prefix *key_pointers[KEYS];
    struct riptide_prefix keys[KEYS];
    uint32_t n = 0, n_iterated = 0, guesses[KEYS];
    const struct entry *entry;

    for (uint32_t i = 0; i < KEYS; i++) {
        struct riptide_prefix key = key_of(i);
        uint32_t slot = prefix_table_find(table, &key);

        assert_int_equal(slot, model[i].is_there ? model[i].slot : NONE);
        keys[i] = key;
        key_pointers[i] = &keys[i];
        if (slot == NONE)
            continue;
        n++;
        entry = prefix_table_at(table, slot);
        assert_true(prefix_equal(&entry->key, &key) && entry->value == model[i].value);
        assert_int_equal(prefix_table_next(table, slot), slot);
    }
    for (uint32_t slot = 0; (slot = prefix_table_next(table, slot)) != NONE; slot++)
        n_iterated++;
    /* Of one that is not there it may be any. */
    prefix_table_guess(table, key_pointers, KEYS, guesses);
    for (uint32_t i = 0; i < KEYS; i++) {
        if (model[i].is_there)
            assert_int_equal(guesses[i], model[i].slot);
        else if (guesses[i] != NONE)
            assert_int_equal(prefix_table_next(table, guesses[i]), guesses[i]);
    }
    assert_int_equal(table->n, n);
    assert_int_equal(n_iterated, n);
}

static void insert(struct prefix_table *table, struct model *model, uint32_t i)
{
    struct riptide_prefix key = key_of(i);
    uint32_t slot = 12345, n = table->n;
    int r = prefix_table_insert(table, &key, &slot);
    struct entry *entry;

    if (!model[i].is_there && n == table->max) {
        assert_int_equal(r, RIPTIDE_E_FULL);
        assert_int_equal(slot, 12345);
        return;
    }
    assert_int_equal(r, 0);
    if (model[i].is_there) {
        assert_int_equal(slot, model[i].slot);
        assert_int_equal(table->n, n);
        return;
    }
    entry = prefix_table_at(table, slot);
    assert_true(entry->value == 0);
    model[i] = (struct model){ .is_there = true, .slot = slot, .value = below(1u << 30) };
    entry->value = model[i].value;
}

/* The share of insertions swings, so that the table fills, empties and fills again. */
static void run(uint32_t max, uint64_t hash_seed, struct model *model)
{
    struct prefix_table table;

    prefix_table_init(&table, sizeof(struct entry), max);
    table.seed = hash_seed;
    check(&table, model);
    for (uint32_t step = 0; step < STEPS; step++) {
        uint32_t i = below(KEYS), insert_share = step / 2500 % 2 ? 20 : 80;

        if (below(100) < insert_share) {
            insert(&table, model, i);
        } else if (model[i].is_there) {
            prefix_table_remove(&table, model[i].slot);
            model[i].is_there = false;
        }
        if (step % 100 == 0)
            check(&table, model);
    }
    check(&table, model);
    prefix_table_deinit(&table);
    assert_int_equal(table.n, 0);
    assert_int_equal(prefix_table_next(&table, 0), NONE);
}

/* Of few entries the buckets make one long run now and then, across the end of the table, too. */
TEST(random_steps_agree_with_the_model)
{
    static const uint32_t maxima[] = { KEYS, 100, 16, 16, 16, 3, 1 };

    seed_random();
    EACH(row, maxima) {
        struct model model[KEYS] = { 0 };

        run(*row, draw(), model);
    }
}
