/* SPDX-License-Identifier: MIT */
/*
 * The log of riptided: what its settings and the agent's events mean to a person.
 */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "settings.h"

/* The settings in effect, and what about this host makes them less than they could be. */
/* What a line of settings ends with where they hold out connections, and none is; else empty. */
const char *report_left_out(const struct settings *settings, const struct riptide_agent *agent);

void report_start(const struct settings *settings, const struct riptide_agent *agent);

void report_event(const struct settings *settings, const struct riptide_agent *agent,
                  const struct riptide_agent_event *event, bool is_paused);

#endif
