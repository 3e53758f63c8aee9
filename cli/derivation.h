/* SPDX-License-Identifier: MIT */
/* How connections to a destination start, by the daemon's answer to `explain` and the kernel's. */
#ifndef CLI_DERIVATION_H
#define CLI_DERIVATION_H

#include "commands.h"
#include "kernel.h"

struct start {
    long long window; /* segments; 0: they cannot */
    bool is_ours;
    char why[256];      /* it is not ours; empty: it is */
    const char *remedy; /* of the answer, or static; empty: none is known, or needed */
};

void derivation_find_start(struct start *start, const json_t *answer,
                           const struct kernel_route *route);

/* Prints that, and how the window comes about. Frees the answer. Returns the exit status. */
int derivation_print(const struct command_options *options, const struct riptide_prefix *dst,
                     json_t *answer);

#endif
