/* SPDX-License-Identifier: MIT */
/*
 * Numbers with units, as people write them. Pure.
 */
#ifndef WAN_QUANTITY_H
#define WAN_QUANTITY_H

#include <stdint.h>

struct wan_unit {
    const char *name;
    double scale;
};

struct wan_quantity {
    struct wan_unit units[6]; /* up to the first without a name */
    double min, max;
    const char *remedy; /* what to write instead, after "give" */
};

extern const struct wan_quantity wan_duration; /* ns */
extern const struct wan_quantity wan_rate;     /* bits per second */
extern const struct wan_quantity wan_size;     /* bytes */
extern const struct wan_quantity wan_share;    /* of WAN_LOSS_ALWAYS */
extern const struct wan_quantity wan_seed, wan_mtu, wan_yes_no;

int wan_quantity_parse(const struct wan_quantity *quantity, const char *text,
                       uint64_t *valuep); /* -EINVAL */

#endif
