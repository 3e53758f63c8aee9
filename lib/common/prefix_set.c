/* SPDX-License-Identifier: MIT */
/* Sorting and simplifying prefixes; see prefix_set.h. */
#include "prefix_set.h"

#include "internal.h"
#include "prefix.h"

#include <stdlib.h>
#include <string.h>

void prefix_set_deinit(struct prefix_set *set)
{
    free(set->rules);
    *set = (struct prefix_set){ 0 };
}

int prefix_set_add(struct prefix_set *set, const struct riptide_prefix *prefix, bool verdict)
{
    const struct prefix_rule rule = { .prefix = *prefix, .verdict = verdict };

    return array_append(&set->rules, &set->n, &rule, sizeof(rule));
}

static int compare_rules(const void *a, const void *b)
{
    const struct prefix_rule *first = a, *second = b;
    int order = prefix_compare(&first->prefix, &second->prefix);

    return order ? order : second->verdict - first->verdict;
}

/* The innermost prefix that contains `prefix`: `rule` itself or one around it; or NONE. */
static uint32_t around(const struct prefix_set *set, uint32_t rule,
                       const struct riptide_prefix *prefix)
{
    while (rule != PREFIX_SET_NONE && !prefix_contains(&set->rules[rule].prefix, prefix))
        rule = set->rules[rule].parent;
    return rule;
}

static bool verdict_of(const struct prefix_set *set, uint32_t rule)
{
    return rule == PREFIX_SET_NONE ? set->verdict : set->rules[rule].verdict;
}

/* Of equal prefixes the last one counts, as sorted: the one with the verdict false. */
static void put(struct prefix_set *set, struct prefix_rule rule)
{
    if (set->n > 0 && prefix_equal(&set->rules[set->n - 1].prefix, &rule.prefix))
        set->n--;
    rule.parent = around(set, set->n > 0 ? set->n - 1 : PREFIX_SET_NONE, &rule.prefix);
    if (verdict_of(set, rule.parent) == rule.verdict)
        return;
    set->rules[set->n++] = rule;
}

void prefix_set_finish(struct prefix_set *set)
{
    uint32_t n = set->n;

    /* qsort does not allow NULL, not even with n = 0. */
    if (n > 0)
        qsort(set->rules, n, sizeof(*set->rules), compare_rules);
    set->n = 0;
    for (uint32_t i = 0; i < n; i++)
        put(set, set->rules[i]);
    set->n4 = 0;
    for (uint32_t i = 0; i < set->n; i++)
        set->n4 += set->rules[i].prefix.family == AF_INET;
}

int prefix_set_init(struct prefix_set *set, const struct riptide_prefix *learn, size_t n_learn,
                    const struct riptide_prefix *exclude, size_t n_exclude)
{
    int r = 0;

    set->verdict = n_learn == 0;
    for (size_t i = 0; r == 0 && i < n_learn; i++)
        r = prefix_set_add(set, &learn[i], true);
    for (size_t i = 0; r == 0 && i < n_exclude; i++)
        r = prefix_set_add(set, &exclude[i], false);
    if (r == 0)
        prefix_set_finish(set);
    return r;
}

/* The innermost prefix around it is the last rule before it, or one around that; or NONE. */
static uint32_t find(const struct prefix_set *set, const struct riptide_prefix *dst)
{
    return around(set, prefix_find_last(set->rules, set->n, sizeof(*set->rules), dst), dst);
}

bool prefix_set_decide(const struct prefix_set *set, const struct riptide_prefix *dst)
{
    return verdict_of(set, find(set, dst));
}

bool prefix_set_is_around(const struct prefix_set *set, const struct riptide_prefix *dst)
{
    return find(set, dst) != PREFIX_SET_NONE;
}

bool prefix_set_is_empty(const struct prefix_set *set)
{
    int n_whole = 0;

    for (uint32_t i = 0; i < set->n; i++) {
        if (set->rules[i].verdict)
            return false;
        n_whole += set->rules[i].prefix.len == 0;
    }
    return !set->verdict || n_whole == 2;
}
