/* SPDX-License-Identifier: MIT */
/*
 * Values with weights. See distribution.h.
 */
#include "distribution.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int distribution_add(struct distribution *distribution, double value, double weight)
{
    if (distribution->n == distribution->n_allocated) {
        size_t n = distribution->n_allocated ? 2 * distribution->n_allocated : 64;
        struct distribution_item *items = reallocarray(distribution->items, n, sizeof(*items));

        if (!items)
            return -ENOMEM;
        distribution->items = items;
        distribution->n_allocated = n;
    }
    distribution->items[distribution->n++] = (struct distribution_item){ value, weight };
    distribution->weight += weight;
    return 0;
}

/* strtod alone takes "inf", hexadecimal and signs. */
static bool read_number(const char **textp, double *valuep)
{
    size_t n = strspn(*textp, "0123456789.eE+-");
    char *end;

    if (n == 0 || !strchr("0123456789.", **textp))
        return false;
    *valuep = strtod(*textp, &end);
    if (end != *textp + n || !(*valuep > 0) || *valuep > 1e18)
        return false;
    *textp = end;
    return true;
}

int distribution_add_line(struct distribution *distribution, const char *line)
{
    double value, weight = 1;

    line += strspn(line, " \t\r\n");
    if (!*line || *line == '#')
        return 0;
    if (!read_number(&line, &value))
        return -EINVAL;
    line += strspn(line, " \t");
    if (*line == ',') {
        line++;
        line += strspn(line, " \t");
        if (!read_number(&line, &weight))
            return -EINVAL;
    }
    if (line[strspn(line, " \t\r\n")])
        return -EINVAL;
    return distribution_add(distribution, value, weight);
}

static int compare(const void *left, const void *right)
{
    double a = ((const struct distribution_item *)left)->value;
    double b = ((const struct distribution_item *)right)->value;

    return (a > b) - (a < b);
}

void distribution_sort(struct distribution *distribution)
{
    if (distribution->n > 0)
        qsort(distribution->items, distribution->n, sizeof(*distribution->items), compare);
}

double distribution_quantile(const struct distribution *distribution, double share)
{
    /* Sums of weights are not exact, and half of two values is the first of them. */
    double wanted = share * distribution->weight * (1 - 1e-12);
    double reached = 0;

    for (size_t i = 0; i < distribution->n; i++) {
        reached += distribution->items[i].weight;
        if (reached >= wanted)
            return distribution->items[i].value;
    }
    return distribution->n > 0 ? distribution->items[distribution->n - 1].value : 0;
}

double distribution_mean(const struct distribution *distribution)
{
    double sum = 0;

    for (size_t i = 0; i < distribution->n; i++)
        sum += distribution->items[i].value * distribution->items[i].weight;
    return distribution->weight > 0 ? sum / distribution->weight : 0;
}

void distribution_deinit(struct distribution *distribution)
{
    free(distribution->items);
    *distribution = (struct distribution){ .items = NULL };
}
