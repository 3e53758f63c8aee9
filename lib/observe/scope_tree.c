/* SPDX-License-Identifier: MIT */
/*
 * Sorted prefixes to a tree: each range of the sorted array is a subtree. Nothing is inserted or
 * rebalanced, so that the tree depends on the set of prefixes alone.
 */
#include "observe/scope_tree.h"

#include "internal.h"
#include "prefix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct riptide_prefix prefix;
    bool verdict;
};

/* A prefix before what lies in it; of equal ones, that which is excluded. */
static int compare(const void *a, const void *b)
{
    const struct entry *first = a, *second = b;
    int order = first->prefix.family - second->prefix.family;

    if (order == 0)
        order = memcmp(first->prefix.addr, second->prefix.addr, sizeof(first->prefix.addr));
    if (order == 0)
        order = first->prefix.len - second->prefix.len;
    return order ? order : first->verdict - second->verdict;
}

static unsigned int bit_of(const struct riptide_prefix *prefix, unsigned int index)
{
    return prefix->addr[index / 8] >> (7 - index % 8) & 1;
}

static struct riptide_prefix common_of(const struct riptide_prefix *a,
                                       const struct riptide_prefix *b)
{
    struct riptide_prefix common = *a;
    unsigned int len = 0, max = a->len < b->len ? a->len : b->len;

    while (len < max && bit_of(a, len) == bit_of(b, len))
        len++;
    prefix_truncate(&common, (uint8_t)len);
    return common;
}

static uint32_t add(struct scope_tree *tree, const struct scope_node *node)
{
    tree->nodes[tree->n] = *node;
    return tree->n++;
}

/* Whether a branch is nothing but two halves: a verdict that differs from outside is the same. */
static bool is_whole(const struct scope_tree *tree, const struct scope_node *branch)
{
    for (int i = 0; i < 2; i++) {
        const struct scope_node *half = &tree->nodes[branch->children[i]];

        if (half->is_branch || half->children[0] != SCOPE_TREE_NONE ||
            half->prefix.len != branch->prefix.len + 1)
            return false;
    }
    return true;
}

/* Whether all that lies in a prefix is decided again: by the other verdict, as outside of it. */
static bool is_overruled(const struct scope_tree *tree, const struct scope_node *node)
{
    return node->children[0] != SCOPE_TREE_NONE && !tree->nodes[node->children[0]].is_branch &&
           tree->nodes[node->children[0]].prefix.len == node->prefix.len;
}

/* The tree of n entries in a place whose verdict is `outside`, or SCOPE_TREE_NONE. */
static uint32_t build(struct scope_tree *tree, const struct entry *entries, size_t n, bool outside)
{
    struct scope_node node = { .children = { SCOPE_TREE_NONE, SCOPE_TREE_NONE } };
    size_t low = 0, high = n;

    if (n == 0)
        return SCOPE_TREE_NONE;
    if (riptide_prefix_contains(&entries[0].prefix, &entries[n - 1].prefix)) {
        node.prefix = entries[0].prefix;
        node.verdict = entries[0].verdict;
        node.children[0] = build(tree, entries + 1, n - 1, node.verdict);
        if (node.verdict == outside)
            return node.children[0];
        return is_overruled(tree, &node) ? SCOPE_TREE_NONE : add(tree, &node);
    }
    node.prefix = common_of(&entries[0].prefix, &entries[n - 1].prefix);
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (bit_of(&entries[middle].prefix, node.prefix.len))
            high = middle;
        else
            low = middle + 1;
    }
    node.children[0] = build(tree, entries, low, outside);
    node.children[1] = build(tree, entries + low, n - low, outside);
    for (int i = 0; i < 2; i++) {
        if (node.children[i] == SCOPE_TREE_NONE)
            return node.children[!i];
    }
    node.is_branch = true;
    if (is_whole(tree, &node)) {
        node.is_branch = false;
        node.verdict = !outside;
        node.children[0] = node.children[1] = SCOPE_TREE_NONE;
    }
    return add(tree, &node);
}

/* Of equal prefixes only the first is left. */
static size_t fill(struct entry *entries, const struct riptide_scope *scope)
{
    size_t n_all = scope->n_learn + scope->n_exclude, n = 0;

    for (size_t i = 0; i < scope->n_learn; i++)
        entries[i] = (struct entry){ scope->learn[i], true };
    for (size_t i = 0; i < scope->n_exclude; i++)
        entries[scope->n_learn + i] = (struct entry){ scope->exclude[i], false };
    qsort(entries, n_all, sizeof(*entries), compare);
    for (size_t i = 0; i < n_all; i++) {
        if (n == 0 || !riptide_prefix_equal(&entries[n - 1].prefix, &entries[i].prefix))
            entries[n++] = entries[i];
    }
    return n;
}

int scope_tree_init(struct scope_tree *tree, const struct riptide_scope *scope)
{
    CLEANUP(freep) struct entry *entries = NULL;
    size_t n_all = scope->n_learn + scope->n_exclude, n, n4 = 0;

    *tree = (struct scope_tree){ .roots = { SCOPE_TREE_NONE, SCOPE_TREE_NONE },
                                 .verdict = scope->n_learn == 0 };
    if (n_all == 0)
        return 0;
    /* A branch has two children, so there are fewer branches than prefixes. */
    entries = calloc(n_all, sizeof(*entries));
    tree->nodes = calloc(2 * n_all, sizeof(*tree->nodes));
    if (!entries || !tree->nodes)
        return -ENOMEM;
    n = fill(entries, scope);
    while (n4 < n && entries[n4].prefix.family == families[0])
        n4++;
    tree->roots[0] = build(tree, entries, n4, tree->verdict);
    tree->roots[1] = build(tree, entries + n4, n - n4, tree->verdict);
    return 0;
}

void scope_tree_deinit(struct scope_tree *tree)
{
    free(tree->nodes);
    tree->nodes = NULL;
}

/* A prefix with a verdict decides at least something of its own: build sees to that. */
bool scope_tree_is_empty(const struct scope_tree *tree)
{
    for (uint32_t i = 0; i < tree->n; i++) {
        if (!tree->nodes[i].is_branch && tree->nodes[i].verdict)
            return false;
    }
    for (int i = 0; i < 2; i++) {
        uint32_t root = tree->roots[i];

        if (tree->verdict && (root == SCOPE_TREE_NONE || tree->nodes[root].is_branch ||
                              tree->nodes[root].prefix.len > 0))
            return false;
    }
    return true;
}

bool scope_tree_matches(const struct scope_tree *tree, const struct riptide_prefix *dst)
{
    uint32_t at = tree->roots[family_index(dst->family)];
    bool verdict = tree->verdict;

    while (at != SCOPE_TREE_NONE) {
        const struct scope_node *node = &tree->nodes[at];

        /* What a branch has in common is asked for below it. */
        if (node->is_branch) {
            at = node->children[bit_of(dst, node->prefix.len)];
            continue;
        }
        if (!riptide_prefix_contains(&node->prefix, dst))
            break;
        verdict = node->verdict;
        at = node->children[0];
    }
    return verdict;
}
