/* SPDX-License-Identifier: MIT */
/*
 * The distinct base routes that destinations have, each held once, at its real size. Pure but for
 * memory.
 */
#ifndef RIPTIDE_LIB_APPLY_BASES_H
#define RIPTIDE_LIB_APPLY_BASES_H

#include "base.h"

#define BASES_NONE UINT32_MAX

struct held_base;

struct bases {
    struct held_base **list; /* NULL where free */
    uint32_t n;
    uint32_t n_ipv6;    /* of those held */
    uint32_t *buckets;  /* numbers, each the first of a chain of equal hashes */
    uint32_t n_buckets; /* as many as `list` has room for, a power of two */
    uint32_t free;      /* where to look for a free number: none is below */
};

void bases_deinit(struct bases *bases);

/* The base of that number, which somebody holds. It has no more bytes than base_bytes says. */
const struct base *bases_at(const struct bases *bases, uint32_t number);

/* The number of that base, with one user more. Errors: -ENOMEM. */
int bases_hold(struct bases *bases, const struct base *base, uint32_t *numberp);

/* One user more of a base that has some; BASES_NONE is fine. */
void bases_share(struct bases *bases, uint32_t number);

/* One user less; with the last one the base is forgotten. BASES_NONE is fine. */
void bases_release(struct bases *bases, uint32_t number);

/* Whether a base leads through that link, or through several. */
bool bases_has_link(const struct bases *bases, uint32_t ifindex);

/* Whether a base has that source address. */
bool bases_has_prefsrc(const struct bases *bases, const struct riptide_prefix *address);

#endif
