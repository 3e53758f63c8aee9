/* SPDX-License-Identifier: MIT */
/*
 * Values with weights: file sizes, round trip times, and what is computed of them. Pure.
 */
#ifndef CLI_MODEL_DISTRIBUTION_H
#define CLI_MODEL_DISTRIBUTION_H

#include <stddef.h>

struct distribution_item {
    double value;
    double weight;
};

struct distribution {
    struct distribution_item *items;
    size_t n;
    size_t n_allocated;
    double weight; /* of all */
};

/* Errors: -ENOMEM. */
int distribution_add(struct distribution *distribution, double value, double weight);

/*
 * One line of CSV, `VALUE` or `VALUE,WEIGHT`, both above 0; nothing for an empty line or a comment.
 * Errors: -EINVAL (it is something else), -ENOMEM.
 */
int distribution_add_line(struct distribution *distribution, const char *line);

/* Orders the items by value; needed by the next one. */
void distribution_sort(struct distribution *distribution);

/* The smallest value such that `share` (0 to 1) of the weight is at or below it; 0 without items.
 */
double distribution_quantile(const struct distribution *distribution, double share);

double distribution_mean(const struct distribution *distribution);

void distribution_deinit(struct distribution *distribution);

#endif
