/* SPDX-License-Identifier: MIT */
/*
 * Lists of shares by their size. A size changes by one at a time. So the next largest size is the
 * present one or a neighbour, and each step takes constant time.
 */
#include "shares.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE PREFIX_TABLE_NONE

int shares_init(struct shares *shares, uint32_t max_shares, uint32_t max_size)
{
    const size_t n_bytes = ((size_t)max_size + 1) * sizeof(*shares->of_size);

    *shares = (struct shares){ .max_size = max_size };
    prefix_table_init(&shares->table, sizeof(struct share), max_shares);
    shares->of_size = malloc(n_bytes);
    if (!shares->of_size)
        return -ENOMEM;
    memset(shares->of_size, 0xff, n_bytes); /* PREFIX_TABLE_NONE */
    return 0;
}

void shares_deinit(struct shares *shares)
{
    prefix_table_deinit(&shares->table);
    free(shares->of_size);
    shares->of_size = NULL;
}

static struct share *share_at(const struct shares *shares, uint32_t slot)
{
    return prefix_table_at(&shares->table, slot);
}

static void unlink_share(struct shares *shares, uint32_t slot)
{
    const struct share *share = share_at(shares, slot);

    if (share->before == NONE)
        shares->of_size[share->n_destinations] = share->after;
    else
        share_at(shares, share->before)->after = share->after;
    if (share->after != NONE)
        share_at(shares, share->after)->before = share->before;
}

static void link_share(struct shares *shares, uint32_t slot)
{
    struct share *share = share_at(shares, slot);
    uint32_t *first = &shares->of_size[share->n_destinations];

    share->before = NONE;
    share->after = *first;
    if (*first != NONE)
        share_at(shares, *first)->before = slot;
    *first = slot;
}

int shares_enter(struct shares *shares, const struct riptide_prefix *within,
                 uint32_t *n_destinations)
{
    struct share *share;
    uint32_t slot;
    int r = prefix_table_insert(&shares->table, within, &slot);

    if (r != 0)
        return r;
    share = share_at(shares, slot);
    if (share->n_destinations > 0)
        unlink_share(shares, slot);
    share->n_destinations++;
    link_share(shares, slot);
    if (share->n_destinations > shares->largest)
        shares->largest = share->n_destinations;
    *n_destinations = share->n_destinations;
    return 0;
}

void shares_leave(struct shares *shares, const struct riptide_prefix *within)
{
    uint32_t slot = prefix_table_find(&shares->table, within);
    struct share *share = share_at(shares, slot);

    unlink_share(shares, slot);
    /* Where this was the last one of the largest size, it is now among the largest itself. */
    if (shares->of_size[shares->largest] == NONE)
        shares->largest--;
    share->n_destinations--;
    if (share->n_destinations > 0)
        link_share(shares, slot);
    else
        prefix_table_remove(&shares->table, slot);
}

const struct share *shares_find_largest(const struct shares *shares)
{
    return shares->largest > 0 ? share_at(shares, shares->of_size[shares->largest]) : NULL;
}
