/* SPDX-License-Identifier: MIT */
/*
 * How many destinations each prefix has, and which prefix has most. Shares of one size are a list,
 * so that the largest is known without a walk over all of them. Pure except for memory.
 */
#ifndef RIPTIDE_LIB_COMPUTE_SHARES_H
#define RIPTIDE_LIB_COMPUTE_SHARES_H

#include "prefix_table.h"

/* How many destinations there are within a /24, a /64, or a wider destination. */
struct share {
    struct riptide_prefix within;
    uint32_t n_destinations;
    /* Slots of others of the same size, or PREFIX_TABLE_NONE. */
    uint32_t before;
    uint32_t after;
};

struct shares {
    struct prefix_table table;
    /* The first slot of each size from 0 to max_size, or PREFIX_TABLE_NONE. */
    uint32_t *of_size;
    uint32_t max_size;
    /* The size of the largest share; 0: there is none. */
    uint32_t largest;
};

/* At most so many shares, each of at most so many destinations. Errors: -ENOMEM. */
int shares_init(struct shares *shares, uint32_t max_shares, uint32_t max_size);
void shares_deinit(struct shares *shares);

/*
 * A destination comes into the share, which must be smaller than max_size: *n_destinations is how
 * many it then has. Outcomes: RIPTIDE_E_FULL: no place for another share. Errors: -ENOMEM.
 */
int shares_enter(struct shares *shares, const struct riptide_prefix *within,
                 uint32_t *n_destinations);

/* A destination leaves the share, which has one. */
void shares_leave(struct shares *shares, const struct riptide_prefix *within);

/* One that has most destinations; NULL: there is none. */
const struct share *shares_find_largest(const struct shares *shares);

#endif
