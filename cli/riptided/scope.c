/* SPDX-License-Identifier: MIT */
#include "scope.h"

#include "cidr.h"

#include <sys/socket.h>

/* The length of the longest of these prefixes around the peer; -1: none is. */
static int find_longest(const struct riptide_prefix *prefixes, size_t n,
                        const struct riptide_prefix *peer)
{
    int longest = -1;

    for (size_t i = 0; i < n; i++) {
        if (prefixes[i].len > longest && cidr_contains(&prefixes[i], peer))
            longest = prefixes[i].len;
    }
    return longest;
}

enum riptide_reason scope_explain(const struct riptide_scope *scope,
                                  const struct riptide_prefix *peer)
{
    const int learn = find_longest(scope->learn, scope->n_learn, peer);
    const int exclude = find_longest(scope->exclude, scope->n_exclude, peer);

    if (exclude >= 0 && exclude >= learn)
        return RIPTIDE_REASON_EXCLUDED;
    if (learn < 0 && scope->n_learn > 0)
        return RIPTIDE_REASON_OUT_OF_SCOPE;
    return RIPTIDE_REASON_NONE;
}

bool scope_is_link_local(const struct riptide_prefix *peer)
{
    static const struct riptide_prefix v4 = { AF_INET, 16, { 169, 254 } };
    static const struct riptide_prefix v6 = { AF_INET6, 10, { 0xfe, 0x80 } };

    return cidr_contains(&v4, peer) || cidr_contains(&v6, peer);
}
