/* SPDX-License-Identifier: MIT */
/*
 * Any route messages as those of the table `local`: the resulting set agrees with a comparison with
 * one prefix after the other, and only messages of the right kind add to it.
 */
#include "observe/dump.h"

#include "messages.h"
#include "prefix.h"
#include "target.h"
#include "tools.h"

#include <linux/rtnetlink.h>

static bool holds_by_hand(const struct prefix_set *set, const struct riptide_prefix *dst)
{
    for (size_t i = 0; i < set->n; i++) {
        if (riptide_prefix_contains(&set->rules[i].prefix, dst))
            return true;
    }
    return false;
}

/* The prefix's first address, and the same with one bit inverted. */
static void check_around(const struct prefix_set *set, const struct riptide_prefix *prefix, int bit)
{
    struct riptide_prefix dst = *prefix;

    dst.len = prefix_family_bits(dst.family);
    CASE_CHECK(prefix_set_decide(set, &dst));
    dst.addr[bit % dst.len / 8] ^= (uint8_t)(1 << bit % 8);
    CASE_CHECK(prefix_set_decide(set, &dst) == holds_by_hand(set, &dst));
}

static void add(struct prefix_set *set, const struct nlmsghdr *message)
{
    const struct rtmsg *route = (const struct rtmsg *)(message + 1);
    uint32_t before = set->n;
    int r = local_add_route(set, message);

    CASE_CHECK(r == 0 || r == RIPTIDE_E_INVALID);
    CASE_CHECK(set->n == before || (r == 0 && set->n == before + 1));
    if (set->n == before)
        return;
    CASE_CHECK(route->rtm_type == RTN_LOCAL && route->rtm_table == RT_TABLE_LOCAL);
    CASE_CHECK(prefix_is_valid(&set->rules[before].prefix));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct case_bytes bytes = { data, n };
    struct prefix_set set = { 0 };
    struct nlmsghdr *message;

    for (int round = 0; round < 2; round++) {
        bytes = (struct case_bytes){ data, n };
        prefix_set_clear(&set);
        while ((message = messages_next(&bytes))) {
            add(&set, message);
            free(message);
        }
        prefix_set_finish(&set);
        for (size_t i = 0; i < set.n; i++)
            check_around(&set, &set.rules[i].prefix, (int)(i * 5 + n));
    }
    prefix_set_deinit(&set);
    return 0;
}
