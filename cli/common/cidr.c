/* SPDX-License-Identifier: MIT */
#include "cidr.h"

#include <string.h>
#include <sys/socket.h>

uint8_t cidr_count_bits(uint8_t family)
{
    return family == AF_INET ? 32 : 128;
}

bool cidr_contains(const struct riptide_prefix *outer, const struct riptide_prefix *inner)
{
    struct riptide_prefix cut = *inner;
    size_t n_whole_bytes = outer->len / 8;

    if (outer->len > inner->len)
        return false;
    cut.len = outer->len;
    if (outer->len % 8 > 0) {
        cut.addr[n_whole_bytes] &= (uint8_t)(0xff00 >> outer->len % 8);
        n_whole_bytes++;
    }
    memset(cut.addr + n_whole_bytes, 0, sizeof(cut.addr) - n_whole_bytes);
    return memcmp(&cut, outer, sizeof(cut)) == 0;
}
