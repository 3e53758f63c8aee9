/* SPDX-License-Identifier: MIT */
/* Lines of the log: one at the start, one for each event, with fields for the journal. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "daemon.h"

void report_start(const struct daemon *daemon);
void report_event(const struct daemon *daemon, const struct riptide_agent_event *event);

#endif
