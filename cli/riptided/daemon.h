/* SPDX-License-Identifier: MIT */
/* What the daemon knows, for the answers and the log. */
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

#endif
