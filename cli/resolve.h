/*
 * What would become of destinations: a router that writes nothing is asked for each of them.
 */
#ifndef CLI_RESOLVE_H
#define CLI_RESOLVE_H

#include <riptide/apply.h>

typedef void resolve_answer_fn(void *userdata, const struct riptide_route *route);

/*
 * Calls on_answer for each destination, with state APPLIED where it could have a route of ours,
 * else LEFT_ALONE or FAILED and the reason. Needs no privilege. Errors: those of the router; its
 * line is in `error`.
 */
int resolve(const struct riptide_router_config *config, const struct riptide_prefix *dsts, size_t n,
            resolve_answer_fn *on_answer, void *userdata, struct riptide_error *error);

#endif
