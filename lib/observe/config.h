/* SPDX-License-Identifier: MIT */
/*
 * An observer's configuration, and its scope evaluated in the plainest way, which defines it: the
 * kernel's filter must agree. Pure except for memory.
 */
#ifndef RIPTIDE_LIB_OBSERVE_CONFIG_H
#define RIPTIDE_LIB_OBSERVE_CONFIG_H

#include <riptide/observe.h>

/* For each side; the largest filter has to fit its buffer. */
enum { SCOPE_MAX_PORT_RANGES = 256 };

/*
 * The caller's values over the defaults; its arrays are not copied. Errors: -EINVAL, -E2BIG, each
 * with a line that names the field.
 */
int observer_config_check(struct riptide_observer_config *checked,
                          const struct riptide_observer_config *config,
                          struct riptide_error *error);

/* Copies a checked scope with its arrays; free it after an error, too. Errors: -ENOMEM. */
int scope_copy(struct riptide_scope *copy, const struct riptide_scope *given);
void scope_deinit(struct riptide_scope *copy);

/* Whether one of the ranges contains the port. */
bool scope_has_port(const struct riptide_port_range *ranges, size_t n, uint32_t port);

/* Whether its prefixes contain the destination. */
bool scope_holds(const struct riptide_scope *scope, const struct riptide_prefix *dst);

/* The observer's own copy, valid as long as the observer; in observer.c. */
const struct riptide_scope *observer_scope(const struct riptide_observer *observer);

/* riptide_scope_matches without the prefixes. */
bool scope_admits(const struct riptide_scope *scope, const struct riptide_sample *sample);

#endif
