/* SPDX-License-Identifier: MIT */
/*
 * The configuration of an agent as its stages get it.
 */
#ifndef RIPTIDE_LIB_AGENT_CONFIG_H
#define RIPTIDE_LIB_AGENT_CONFIG_H

#include <riptide/agent.h>

/* Those of the stages are not where the agent's points, but here. */
struct stages {
    struct riptide_agent_config agent;
    struct riptide_observer_config observer;
    struct riptide_estimator_config estimator;
    struct riptide_router_config router;
};

/*
 * Fills in defaults and what one stage has from another; points to the arrays of `config`. Errors:
 * -EINVAL, -E2BIG, each with a line that names the field. The scope and the router's are for these
 * stages to check.
 */
int stages_take(struct stages *stages, const struct riptide_agent_config *config,
                struct riptide_error *error);

#endif
