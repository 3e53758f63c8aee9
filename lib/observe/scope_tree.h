/* SPDX-License-Identifier: MIT */
/*
 * The prefixes of a scope as a binary tree over the bits of addresses, one for each family. What
 * decides nothing is not in it: a prefix within a longer-reaching one of the same verdict. Answers
 * as the plain evaluation does, in as many steps as prefixes lie within each other, and is what the
 * filter is compiled from. Pure but for memory.
 */
#ifndef RIPTIDE_LIB_OBSERVE_SCOPE_TREE_H
#define RIPTIDE_LIB_OBSERVE_SCOPE_TREE_H

#include <riptide/observe.h>

#define SCOPE_TREE_NONE UINT32_MAX

/*
 * A branch parts two nodes by the bit behind its prefix, which is all that they have in common: it
 * has no verdict of its own. Any other node gives one to its prefix, but for what lies in its
 * child.
 */
struct scope_node {
    struct riptide_prefix prefix;
    bool is_branch;
    bool verdict;
    uint32_t children[2]; /* of a branch both, by that bit; else the first or SCOPE_TREE_NONE */
};

struct scope_tree {
    struct scope_node *nodes;
    uint32_t n;
    uint32_t roots[2]; /* by family_index; or SCOPE_TREE_NONE */
    bool verdict;      /* outside of all nodes */
};

/* Errors: -ENOMEM; the tree is to be freed nevertheless. */
int scope_tree_init(struct scope_tree *tree, const struct riptide_scope *scope);
void scope_tree_deinit(struct scope_tree *tree);

/* Whether no address at all is admitted. */
bool scope_tree_is_empty(const struct scope_tree *tree);

/* The verdict of the scope's prefixes on `dst`, of full length. */
bool scope_tree_matches(const struct scope_tree *tree, const struct riptide_prefix *dst);

#endif
