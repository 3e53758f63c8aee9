/* SPDX-License-Identifier: MIT */
/*
 * Options and keys of earlier versions. Pure.
 */
#ifndef CLI_GONE_H
#define CLI_GONE_H

#include <stdbool.h>
#include <stddef.h>

struct gone_row {
    const char *name;
    const char *value;   /* that holds now; NULL: as where it was not given */
    const char *instead; /* what serves in its place */
};

/* The row of that name, or NULL. */
const struct gone_row *gone_find(const char *name, size_t len);

/* Whether the value asks for what holds anyway; else `text` says what became of it. */
bool gone_holds(const struct gone_row *row, const char *value, char *text, size_t size);

/* What took the place of a policy, to be put behind a refusal; empty where there was none. */
const char *gone_policy(const char *name);

#endif
