/* SPDX-License-Identifier: MIT */
#include "cidr.h"

#include <string.h>
#include <sys/socket.h>

uint8_t cidr_count_bits(uint8_t family)
{
    return family == AF_INET ? 32 : 128;
}

struct riptide_prefix cidr_cut(const struct riptide_prefix *prefix, uint8_t len)
{
    struct riptide_prefix cut = *prefix;
    size_t n_whole_bytes = len / 8;

    cut.len = len;
    if (len % 8 > 0) {
        cut.addr[n_whole_bytes] &= (uint8_t)(0xff00 >> len % 8);
        n_whole_bytes++;
    }
    memset(cut.addr + n_whole_bytes, 0, sizeof(cut.addr) - n_whole_bytes);
    return cut;
}

bool cidr_contains(const struct riptide_prefix *outer, const struct riptide_prefix *inner)
{
    struct riptide_prefix cut;

    if (outer->len > inner->len)
        return false;
    cut = cidr_cut(inner, outer->len);
    return memcmp(&cut, outer, sizeof(cut)) == 0;
}
