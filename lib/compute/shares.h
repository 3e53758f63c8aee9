/* SPDX-License-Identifier: MIT */
/*
 * Shares: how many destinations each prefix has, and which prefix has most. Shares of one size are
 * in one list, so that the largest is known without a walk over all of them. Pure except for
 * memory.
 */
#ifndef RIPTIDE_LIB_COMPUTE_SHARES_H
#define RIPTIDE_LIB_COMPUTE_SHARES_H

#include "prefix_table.h"

/* One share: a /24, a /64, or a wider destination. Its size is its number of destinations. */
struct share {
    struct riptide_prefix within;
    uint32_t n_destinations;
    uint32_t before; /* slot of the share before it in the list of its size, or PREFIX_TABLE_NONE */
    uint32_t after;  /* likewise after it */
};

struct shares {
    struct prefix_table table; /* of struct share */
    /* Slot of the first share of each size, 0 to max_size; PREFIX_TABLE_NONE: none has it. */
    uint32_t *of_size;
    uint32_t max_size;
    uint32_t largest; /* the size of the largest share; 0: there is none */
};

/* Of at most so many shares, each of at most so many destinations. Errors: -ENOMEM. */
int shares_init(struct shares *shares, uint32_t max_shares, uint32_t max_size);
void shares_deinit(struct shares *shares);

/*
 * A destination comes into its share, which must be smaller than max_size. *n_destinations is how
 * many the share then has. Outcomes: RIPTIDE_E_FULL: there is no place for another share. Errors:
 * -ENOMEM.
 */
int shares_enter(struct shares *shares, const struct riptide_prefix *within,
                 uint32_t *n_destinations);

/* A destination leaves its share, which it has entered before. */
void shares_leave(struct shares *shares, const struct riptide_prefix *within);

/* One that has most destinations; NULL: there is none. */
const struct share *shares_find_largest(const struct shares *shares);

#endif
