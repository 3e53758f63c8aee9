/* SPDX-License-Identifier: MIT */
/* Relations of prefixes. Bits after a prefix's length are zero. */
#ifndef CLI_CIDR_H
#define CLI_CIDR_H

#include <riptide/riptide.h>
#include <string.h>
#include <sys/socket.h>

static inline bool cidr_equal(const struct riptide_prefix *a, const struct riptide_prefix *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

/* 32 or 128. */
static inline uint8_t cidr_host_len(uint8_t family)
{
    return family == AF_INET ? 32 : 128;
}

/* The first bits of an address or prefix. */
static inline struct riptide_prefix cidr_cut(const struct riptide_prefix *prefix, uint8_t len)
{
    struct riptide_prefix cut = *prefix;

    if (len >= cut.len)
        return cut;
    cut.len = len;
    for (size_t i = len / 8; i < sizeof(cut.addr); i++)
        cut.addr[i] &= i == len / 8 ? (uint8_t)(0xff00 >> len % 8) : 0;
    return cut;
}

/* Whether `inner` is `outer`, or a part of it. */
static inline bool cidr_contains(const struct riptide_prefix *outer,
                                 const struct riptide_prefix *inner)
{
    const struct riptide_prefix cut = cidr_cut(inner, outer->len);

    return outer->len <= inner->len && cidr_equal(&cut, outer);
}

#endif
