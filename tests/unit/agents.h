/* SPDX-License-Identifier: MIT */
/* Agents with configurations for all their stages, for tests that start them, or refuse to. */
#ifndef TESTS_UNIT_AGENTS_H
#define TESTS_UNIT_AGENTS_H

#include "agent/parts.h"
#include "internal.h"
#include "unit.h"

#include <riptide/agent.h>

/* The defaults, as a dry run, which changes nothing. */
static inline void configs_init(struct stages *configs)
{
    riptide_agent_config_init(&configs->agent, sizeof(configs->agent));
    riptide_observer_config_init(&configs->observer, sizeof(configs->observer));
    riptide_estimator_config_init(&configs->estimator, sizeof(configs->estimator));
    riptide_applier_config_init(&configs->applier, sizeof(configs->applier));
    configs->agent.observer = &configs->observer;
    configs->agent.estimator = &configs->estimator;
    configs->agent.applier = &configs->applier;
    configs->applier.dry_run = true;
}

static inline void agent_freep(struct riptide_agent **agentp)
{
    riptide_agent_free(*agentp);
}

/* One that is freed where it goes out of scope. */
#define AGENT CLEANUP(agent_freep) struct riptide_agent

static inline struct riptide_agent *agent_of(const struct stages *configs)
{
    struct riptide_agent *agent = NULL;
    struct riptide_error error = { .text = "" };

    if (riptide_agent_new(&agent, &configs->agent, &error) != 0)
        fail_msg("%s", error.text);
    return agent;
}

#endif
