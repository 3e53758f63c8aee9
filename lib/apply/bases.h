/*
 * The distinct base routes that destinations have, each held once. There are few: hosts have few
 * gateways. Pure but for memory.
 */
#ifndef RIPTIDE_LIB_APPLY_BASES_H
#define RIPTIDE_LIB_APPLY_BASES_H

#include "base.h"

#define BASES_NONE UINT32_MAX

struct held_base {
    struct base base;
    uint32_t n_users;
};

struct bases {
    struct held_base **list; /* NULL where free */
    uint32_t n;
};

void bases_deinit(struct bases *bases);

/* The base of that number, which somebody holds. */
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
