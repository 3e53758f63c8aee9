/* SPDX-License-Identifier: MIT */
/*
 * The host's own prefixes, from route messages. A host has a few or, with many containers or
 * AnyIP, thousands: full-length ones are found by binary search, the shorter ones, which are rare,
 * one by one.
 */
#include "observe/local.h"

#include "internal.h"
#include "netlink.h"
#include "prefix.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static bool is_host(const struct riptide_prefix *prefix)
{
    return prefix->len == prefix_family_bits(prefix->family);
}

static int compare(const void *a, const void *b)
{
    if (is_host(a) != is_host(b))
        return is_host(a) ? 1 : -1;
    return memcmp(a, b, sizeof(struct riptide_prefix));
}

void local_set_deinit(struct local_set *set)
{
    free(set->prefixes);
    *set = (struct local_set){ 0 };
}

void local_set_clear(struct local_set *set)
{
    set->n = 0;
    set->n_short = 0;
    memset(set->last_bytes, 0, sizeof(set->last_bytes));
}

static int add(struct local_set *set, const struct riptide_prefix *prefix)
{
    struct riptide_prefix *prefixes =
        array_reserve(set->prefixes, set->n, &set->capacity, sizeof(*prefixes));

    if (!prefixes)
        return -ENOMEM;
    set->prefixes = prefixes;
    set->prefixes[set->n++] = *prefix;
    return 0;
}

/* False where the attributes do not fill the message exactly. Without RTA_DST, *dstp stays NULL. */
static bool find_dst(const struct nlattr **dstp, struct netlink_attrs attrs)
{
    const struct nlattr *attr;

    while ((attr = netlink_next(&attrs))) {
        if (mnl_attr_get_type(attr) == RTA_DST)
            *dstp = attr;
    }
    return attrs.left == 0;
}

int local_set_add_route(struct local_set *set, const void *payload, size_t len)
{
    static const struct riptide_prefix loopback = { AF_INET, 8, { 127 } };
    static const uint8_t any[16];
    struct riptide_prefix prefix;
    const struct nlattr *dst = NULL;
    struct rtmsg route;
    uint8_t bits;

    if (len < sizeof(route))
        return RIPTIDE_E_INVALID;
    memcpy(&route, payload, sizeof(route));
    /* Kernels without strict checking (before 4.20) ignore our filter and dump every table. */
    if (route.rtm_type != RTN_LOCAL || route.rtm_table != RT_TABLE_LOCAL)
        return 0;

    bits = prefix_family_bits(route.rtm_family);
    if (bits == 0 || route.rtm_dst_len > bits ||
        !find_dst(&dst, (struct netlink_attrs){ (const void *)((const struct rtmsg *)payload + 1),
                                                (int)(len - sizeof(route)) }))
        return RIPTIDE_E_INVALID;
    if (dst ? mnl_attr_get_payload_len(dst) != bits / 8 : route.rtm_dst_len != 0)
        return RIPTIDE_E_INVALID;

    prefix_from_address(&prefix, route.rtm_family, dst ? mnl_attr_get_payload(dst) : any);
    /* No socket has such a peer: TCP to an IPv4-mapped address is IPv4 and asks IPv4 routes. */
    if (prefix.family != route.rtm_family)
        return 0;
    prefix_truncate(&prefix, route.rtm_dst_len);
    /* Every host has this one, and peers in it are known without being looked up. */
    if (riptide_prefix_contains(&loopback, &prefix))
        return 0;
    return add(set, &prefix);
}

void local_set_sort(struct local_set *set)
{
    /* qsort does not take NULL, not even for nothing. */
    if (set->n > 0)
        qsort(set->prefixes, set->n, sizeof(*set->prefixes), compare);
    while (set->n_short < set->n && !is_host(&set->prefixes[set->n_short]))
        set->n_short++;
    if (set->n_short > 0)
        memset(set->last_bytes, 0xff, sizeof(set->last_bytes));
    for (size_t i = set->n_short; i < set->n; i++) {
        const struct riptide_prefix *host = &set->prefixes[i];
        uint8_t byte = host->addr[host->len / 8 - 1];

        set->last_bytes[byte / 64] |= UINT64_C(1) << byte % 64;
    }
}

static bool has_host(const struct local_set *set, const struct riptide_prefix *dst)
{
    size_t low = set->n_short, high = set->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = memcmp(&set->prefixes[middle], dst, sizeof(*dst));

        if (order == 0)
            return true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

bool local_set_search(const struct local_set *set, const struct riptide_prefix *dst)
{
    for (size_t i = 0; i < set->n_short; i++) {
        if (riptide_prefix_contains(&set->prefixes[i], dst))
            return true;
    }
    return has_host(set, dst);
}
