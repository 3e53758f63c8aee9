/* SPDX-License-Identifier: MIT */
/*
 * Prefixes and longest-match tables from prefix to a number. Pure.
 * IPv4 is kept as ::ffff:a.b.c.d, so that one table and one comparison serve both families.
 */
#ifndef WAN_ROUTE_H
#define WAN_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wan_address {
    uint64_t high, low; /* host byte order */
};

struct wan_prefix {
    struct wan_address address, mask;
};

struct wan_route {
    struct wan_prefix prefix;
    uint32_t value;
};

/* Longest prefix first. */
struct wan_table {
    struct wan_route *routes;
    size_t count;
};

struct wan_prefix wan_prefix_of(struct wan_address address, unsigned int bits); /* 0 to 128 */
int wan_table_add(struct wan_table *table, const struct wan_prefix *prefix,
                  uint32_t value); /* -EEXIST: the prefix is taken; -ENOMEM */
bool wan_table_find(const struct wan_table *table, const struct wan_address *address,
                    uint32_t *valuep);

/* The destination of an IP packet; false where the bytes are not one. */
bool wan_packet_destination(const uint8_t *data, size_t length_bytes, struct wan_address *addressp);
bool wan_address_is_multicast(const struct wan_address *address);

#endif
