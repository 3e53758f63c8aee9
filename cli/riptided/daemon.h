/* SPDX-License-Identifier: MIT */
/* The daemon: what it knows, its life, and the lines that it logs. */
#ifndef CLI_DAEMON_H
#define CLI_DAEMON_H

#include "changes.h"
#include "files.h"
#include "health.h"
#include "hints.h"
#include "settings.h"

struct daemon {
    struct settings *settings;
    struct riptide_agent *agent;
    struct health health;
    struct changes changes;
    struct files files;
};

/*
 * From settings to an exit status: runs until a signal or a failure, or with --check not at all:
 * what would refuse the settings is called, so that no range is defined twice.
 */
int run_daemon(struct settings *settings);

/* Lines of the log: one at the start, one for each event, with fields for the journal. */
void report_start(const struct daemon *daemon);
void report_event(const struct daemon *daemon, const struct riptide_agent_event *event);

#endif
