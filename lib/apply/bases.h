/*
 * The distinct base routes that destinations have, each held once, and the next-hop object that we
 * make of it. There are few: hosts have few gateways. Pure but for memory.
 */
#ifndef RIPTIDE_LIB_APPLY_BASES_H
#define RIPTIDE_LIB_APPLY_BASES_H

#include "base.h"

#define BASES_NONE UINT32_MAX

struct held_base {
    struct base base;
    uint32_t n_users; /* 0: free, once its object is gone */
    uint32_t nhid;    /* of the object, existing or to be made */
    bool has_object;  /* it is in the kernel */
    bool is_moved;    /* but leads to the former hop: to be replaced */
    bool is_refused;  /* the kernel did not take the object: the hop goes into each route */
};

struct bases {
    struct held_base **list; /* NULL where free */
    uint32_t n;
    uint32_t first_nhid; /* base number i has the object first_nhid + i */
};

void bases_init(struct bases *bases, uint32_t first_nhid);
void bases_deinit(struct bases *bases);

/*
 * The number of that base, with one user more. Where it is new and the base numbered `former`
 * (BASES_NONE: none) has only moved to it, that one is given the new hop with all its users.
 * Errors: -ENOMEM.
 */
int bases_hold(struct bases *bases, const struct base *base, uint32_t former, uint32_t *numberp);

/* One user less; BASES_NONE is fine. The base stays until bases_drop, so that its object can be
 * removed first. */
void bases_release(struct bases *bases, uint32_t number);

/* Forgets a base without users. */
void bases_drop(struct bases *bases, uint32_t number);

/* The number of the base whose object has that id, or BASES_NONE. */
uint32_t bases_find_nhid(const struct bases *bases, uint32_t nhid);

/* Whether a base with users leads through that link, or through several. */
bool bases_has_link(const struct bases *bases, uint32_t ifindex);

/* The object that routes of that base name; 0: they carry the hop themselves. */
uint32_t bases_nhid(const struct held_base *held);

#endif
