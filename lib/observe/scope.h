/* SPDX-License-Identifier: MIT */
/*
 * A scope of our own, and its parts beside the prefixes. Pure but for memory.
 */
#ifndef RIPTIDE_LIB_OBSERVE_SCOPE_H
#define RIPTIDE_LIB_OBSERVE_SCOPE_H

#include <riptide/observe.h>

/* Errors: -EINVAL, -E2BIG, each with a line that names the field. */
int scope_check(const struct riptide_scope *scope, struct riptide_error *error);

/*
 * Checks a scope and copies it with its arrays. The copy is to be freed after an error, too.
 * Errors: as scope_check, -ENOMEM.
 */
int scope_copy(struct riptide_scope *copy, const struct riptide_scope *given,
               struct riptide_error *error);
void scope_deinit(struct riptide_scope *copy);

/* Whether one of the ranges holds the port. */
bool scope_has_port(const struct riptide_port_range *ranges, size_t n, uint32_t port);

/* Whether its prefixes hold the destination. */
bool scope_holds(const struct riptide_scope *scope, const struct riptide_prefix *dst);

/* riptide_scope_matches without the prefixes. */
bool scope_admits(const struct riptide_scope *scope, const struct riptide_sample *sample);

#endif
