/* SPDX-License-Identifier: MIT */
/* Bounds of windows: the configuration's, those of hints, and the base route's. Pure. */
#ifndef RIPTIDE_LIB_COMPUTE_BOUNDS_H
#define RIPTIDE_LIB_COMPUTE_BOUNDS_H

#include <riptide/compute.h>

struct hint {
    struct riptide_hint hint; /* begins with its prefix; until_ns is not 0 */
    uint32_t around;          /* the longest other one that contains it, or PREFIX_TABLE_NONE */
    /* Of it and those around it, what decides within it; NULL: none. */
    const struct riptide_hint *kept; /* the longest without an end */
    const struct riptide_hint *cap;  /* with an end: the one that lowers most */
};

/* All zero: none. What `kept` and `cap` point to is in the list itself. */
struct hints {
    struct hint list[RIPTIDE_MAX_HINTS]; /* sorted by prefix */
    uint32_t n;
};

/*
 * Of a configuration or a hint; the line names `max_field` where the maximum was given, and the
 * minimum was not. Errors: -EINVAL, with a line.
 */
int bounds_check(const char *min_field, const char *max_field, uint32_t min, uint32_t max,
                 bool max_is_given, struct riptide_error *error);

/*
 * Sets a hint, in place of one of its prefix and kind. The caller then bounds all windows within
 * its prefix anew. Outcomes: RIPTIDE_E_FULL. Errors: -EINVAL, with a line.
 */
int hints_set(struct hints *hints, const struct riptide_estimator_config *config, uint64_t now_ns,
              const struct riptide_hint *given, struct riptide_error *error);

/* As riptide_estimator_remove_hint; the caller then bounds all windows within it anew. */
int hints_remove(struct hints *hints, const struct riptide_prefix *dst);

/* Removes hints whose end has passed. Returns whether there were any. */
bool hints_expire(struct hints *hints, uint64_t now_ns);

/*
 * Narrows the bounds of an estimate, which so far are the configuration's, by hints, and names the
 * hint. Sets its reason if that is `off`. Returns whether cwnd_max is of a hint.
 */
bool hints_bound(const struct hints *hints, struct riptide_estimate *estimate);

/*
 * Bounds `smoothed` of an estimate, whose bounds so far are the configuration's, by hints and by the
 * base route, to its cwnd. Sets its reason if a hint leaves no window, or none that is larger.
 */
void estimate_bound(const struct hints *hints, struct riptide_estimate *estimate);

#endif
