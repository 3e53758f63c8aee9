/* SPDX-License-Identifier: MIT */
/*
 * The distinct base routes: numbered, and found by their hash.
 */
#include "bases.h"

#include "prefix.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct held_base {
    uint32_t n_users;
    uint32_t hash;
    uint32_t next;    /* number, in its chain; BASES_NONE: the last */
    struct base base; /* cut behind its attributes */
};

void bases_deinit(struct bases *bases)
{
    for (uint32_t i = 0; i < bases->n; i++)
        free(bases->list[i]);
    free(bases->list);
    free(bases->buckets);
    *bases = (struct bases){ 0 };
}

const struct base *bases_at(const struct bases *bases, uint32_t number)
{
    return &bases->list[number]->base;
}

/* FNV-1a. Base routes are the host's own: nobody chooses them to collide. */
static uint32_t hash_of(const struct base *base)
{
    const uint8_t *bytes = (const uint8_t *)base;
    uint32_t hash = 2166136261u;

    for (size_t i = 0, n = base_bytes(base); i < n; i++)
        hash = (hash ^ bytes[i]) * 16777619u;
    return hash;
}

static uint32_t *bucket_of(const struct bases *bases, uint32_t hash)
{
    return &bases->buckets[hash & (bases->n_buckets - 1)];
}

static void chain(struct bases *bases, uint32_t number)
{
    uint32_t *bucket = bucket_of(bases, bases->list[number]->hash);

    bases->list[number]->next = *bucket;
    *bucket = number;
}

static int grow(struct bases *bases)
{
    uint32_t capacity = bases->n_buckets ? bases->n_buckets * 2 : 8;
    struct held_base **list = realloc(bases->list, capacity * sizeof(*list));
    uint32_t *buckets;

    if (!list)
        return -ENOMEM;
    bases->list = list;
    buckets = malloc(capacity * sizeof(*buckets));
    if (!buckets)
        return -ENOMEM;
    memset(buckets, 0xff, capacity * sizeof(*buckets));
    free(bases->buckets);
    bases->buckets = buckets;
    bases->n_buckets = capacity;
    for (uint32_t i = 0; i < bases->n; i++) {
        if (list[i])
            chain(bases, i);
    }
    return 0;
}

static int find_free(struct bases *bases, uint32_t *numberp)
{
    while (bases->free < bases->n && bases->list[bases->free])
        bases->free++;
    if (bases->free == bases->n_buckets && grow(bases) < 0)
        return -ENOMEM;
    if (bases->free == bases->n)
        bases->list[bases->n++] = NULL;
    *numberp = bases->free;
    return 0;
}

static uint32_t find(const struct bases *bases, const struct base *base, uint32_t hash)
{
    uint32_t number = bases->n_buckets ? *bucket_of(bases, hash) : BASES_NONE;

    while (number != BASES_NONE &&
           (bases->list[number]->hash != hash || !base_equal(&bases->list[number]->base, base)))
        number = bases->list[number]->next;
    return number;
}

int bases_hold(struct bases *bases, const struct base *base, uint32_t *numberp)
{
    uint32_t hash = hash_of(base), number = find(bases, base, hash);
    struct held_base *held;

    if (number != BASES_NONE) {
        bases->list[number]->n_users++;
        *numberp = number;
        return 0;
    }
    held = malloc(offsetof(struct held_base, base) + base_bytes(base));
    if (!held || find_free(bases, &number) < 0) {
        free(held);
        return -ENOMEM;
    }
    memcpy(&held->base, base, base_bytes(base));
    held->n_users = 1;
    held->hash = hash;
    bases->list[number] = held;
    bases->n_ipv6 += base->match.family == AF_INET6;
    chain(bases, number);
    *numberp = number;
    return 0;
}

void bases_share(struct bases *bases, uint32_t number)
{
    if (number != BASES_NONE)
        bases->list[number]->n_users++;
}

void bases_release(struct bases *bases, uint32_t number)
{
    struct held_base *held;
    uint32_t *link;

    if (number == BASES_NONE || --bases->list[number]->n_users > 0)
        return;
    held = bases->list[number];
    for (link = bucket_of(bases, held->hash); *link != number; link = &bases->list[*link]->next)
        ;
    *link = held->next;
    bases->list[number] = NULL;
    bases->n_ipv6 -= held->base.match.family == AF_INET6;
    if (number < bases->free)
        bases->free = number;
    free(held);
}

bool bases_has_link(const struct bases *bases, uint32_t ifindex)
{
    for (uint32_t i = 0; i < bases->n; i++) {
        const struct held_base *held = bases->list[i];

        if (held && (held->base.ifindex == ifindex || held->base.ifindex == 0))
            return true;
    }
    return false;
}

bool bases_has_prefsrc(const struct bases *bases, const struct riptide_prefix *address)
{
    for (uint32_t i = 0; i < bases->n; i++) {
        if (bases->list[i] && riptide_prefix_equal(&bases->list[i]->base.prefsrc, address))
            return true;
    }
    return false;
}
