/* SPDX-License-Identifier: MIT */
/*
 * A single look at one destination: its connections as a policy sees them, and where a route of
 * ours would lead. Needs neither daemon nor privilege, and has no history.
 */
#ifndef CLI_LOOK_H
#define CLI_LOOK_H

#include "settings.h"

struct look {
    uint64_t now_ns;
    struct riptide_explanation explanation; /* zero where there is no connection */
    bool may_lower;                         /* as in riptide_estimate */
    bool has_route;
    struct riptide_route route; /* as a dry run resolves it */
};

/*
 * As riptided would with these settings, but with the policy of that name where there is one.
 * Errors, with a line: -EINVAL (the settings), -ENOMEM, those of the observer and of the router.
 */
int look_at(struct look *look, const struct settings *settings, const struct riptide_prefix *dst,
            const char *policy, struct riptide_error *error);

/* The destination that an address counts as. Errors: as look_at. */
int look_group(const struct riptide_estimator_config *config, const struct riptide_prefix *dst,
               struct riptide_prefix *group);

#endif
