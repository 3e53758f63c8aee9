/* SPDX-License-Identifier: MIT */
/* Longest match by a walk over a sorted array: a port has some tens of prefixes, not thousands. */
#include "route.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define V4_MAPPED_LOW UINT64_C(0x0000ffff00000000)

static struct wan_address address_from_v4(const uint8_t *bytes)
{
    uint32_t be;

    memcpy(&be, bytes, sizeof(be));
    return (struct wan_address){ 0, V4_MAPPED_LOW | be32toh(be) };
}

static struct wan_address address_from_v6(const uint8_t *bytes)
{
    uint64_t be[2];

    memcpy(be, bytes, sizeof(be));
    return (struct wan_address){ be64toh(be[0]), be64toh(be[1]) };
}

static uint64_t mask_bits(unsigned int bits)
{
    return bits ? UINT64_MAX << (64 - bits) : 0;
}

struct wan_prefix wan_prefix_of(struct wan_address address, unsigned int bits)
{
    struct wan_address mask = { mask_bits(bits < 64 ? bits : 64),
                                mask_bits(bits < 64 ? 0 : bits - 64) };

    return (struct wan_prefix){ { address.high & mask.high, address.low & mask.low }, mask };
}

static bool longer_or_equal(const struct wan_address *a, const struct wan_address *b)
{
    return a->high > b->high || (a->high == b->high && a->low >= b->low);
}

int wan_table_add(struct wan_table *table, const struct wan_prefix *prefix, uint32_t value)
{
    struct wan_route *routes;
    size_t at = 0;

    for (; at < table->count; at++) {
        const struct wan_route *route = &table->routes[at];

        if (!memcmp(&route->prefix, prefix, sizeof(*prefix)))
            return -EEXIST;
        if (!longer_or_equal(&route->prefix.mask, &prefix->mask))
            break;
    }
    routes = realloc(table->routes, (table->count + 1) * sizeof(*routes));
    if (!routes)
        return -ENOMEM;
    memmove(routes + at + 1, routes + at, (table->count - at) * sizeof(*routes));
    routes[at] = (struct wan_route){ .prefix = *prefix, .value = value };
    table->routes = routes;
    table->count++;
    return 0;
}

bool wan_table_find(const struct wan_table *table, const struct wan_address *address,
                    uint32_t *valuep)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct wan_prefix *prefix = &table->routes[i].prefix;

        if ((address->low & prefix->mask.low) == prefix->address.low &&
            (address->high & prefix->mask.high) == prefix->address.high) {
            *valuep = table->routes[i].value;
            return true;
        }
    }
    return false;
}

bool wan_packet_destination(const uint8_t *data, size_t length_bytes, struct wan_address *addressp)
{
    if (length_bytes >= 20 && data[0] >> 4 == 4)
        *addressp = address_from_v4(data + 16);
    else if (length_bytes >= 40 && data[0] >> 4 == 6)
        *addressp = address_from_v6(data + 24);
    else
        return false;
    return true;
}

bool wan_address_is_multicast(const struct wan_address *address)
{
    /* 224.0.0.0/4, and 240.0.0.0/4 with the broadcast address, which is not routed either. */
    if (address->high == 0 && address->low >> 32 == V4_MAPPED_LOW >> 32)
        return (address->low & UINT32_MAX) >= UINT32_C(0xe0000000);
    return address->high >> 56 == 0xff;
}
