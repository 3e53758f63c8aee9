/*
 * A single look at one destination: its connections as a policy sees them, and where a route of
 * ours would lead. Needs neither daemon nor privilege, and has no history.
 */
#ifndef CLI_LOOK_H
#define CLI_LOOK_H

#include <riptide/apply.h>
#include <riptide/compute.h>

struct look {
    struct riptide_estimator_config config; /* that the window was computed with */
    uint32_t connections;
    uint32_t left_out[RIPTIDE_LEFT_OUT_REASONS]; /* of these, by reason - 1 */
    uint64_t now_ns;
    bool has_window;
    struct riptide_explanation explanation; /* of the window */
    bool has_route;
    struct riptide_route route; /* as a dry run resolves it */
};

/*
 * With the policy of that name, else the default; the rest is defaults. Errors, with a line:
 * -ENOMEM, those of the observer and of the router.
 */
int look_at(struct look *look, const struct riptide_prefix *dst, const char *policy,
            const struct riptide_router_config *router, struct riptide_error *error);

#endif
