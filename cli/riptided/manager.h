/* SPDX-License-Identifier: MIT */
/*
 * The service manager, by sd_notify(3)'s protocol without libsystemd: a datagram does not justify a
 * dependency.
 */
#ifndef CLI_MANAGER_H
#define CLI_MANAGER_H

#include <riptide/agent.h>

struct manager {
    uint64_t watchdog_us; /* the manager's timeout; 0: none */
    uint64_t told_ns;     /* the last sign of life */
    bool is_ready;        /* and the manager was told */
};

/* What the manager has set in the environment. */
void manager_init(struct manager *manager);

/*
 * After a round: ready is the daemon after the first one without a failure. A running loop is no
 * sign of life, as a round that never ends would not be detected. As rounds may be far apart, the
 * manager is asked to wait for the next one in addition to its timeout.
 */
void manager_tick(struct manager *manager, const struct riptide_tick *tick, bool has_failed);

/* The daemon begins to end. */
void manager_stopping(void);

#endif
