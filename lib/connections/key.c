/* SPDX-License-Identifier: MIT */
/*
 * What is wanted for a prefix as the program's map has it. Pure.
 */
#include "connections/key.h"

#include "prefix.h"

#include <string.h>

struct window_key window_key_of(const struct riptide_prefix *dst)
{
    struct window_key key = { .prefix_bits = dst->len };
    size_t n_bytes = prefix_family_bits(dst->family) / 8u, at = sizeof(key.address) - n_bytes;

    if (dst->family == AF_INET) {
        key.prefix_bits += 96;
        key.address[10] = key.address[11] = 0xff;
    }
    memcpy(key.address + at, dst->addr, n_bytes);
    return key;
}

struct window window_of(const struct riptide_wanted *wanted)
{
    uint32_t max = wanted->cwnd_max;

    return (struct window){
        .initcwnd = max > 0 && wanted->initcwnd > max ? max : wanted->initcwnd,
        .cwnd_max = max,
        .may_lower = wanted->may_lower,
        .rto_min_us = wanted->rto_min_us,
        .receive_bytes = wanted->receive_bytes,
        .pacing_percent = wanted->pacing_percent,
        .rtt_us = wanted->rtt_us,
        .is_ipv6_alone = wanted->dst.family == AF_INET6 && wanted->dst.len < 96,
    };
}
