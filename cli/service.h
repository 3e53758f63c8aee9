/* SPDX-License-Identifier: MIT */
/*
 * The daemon's messages to the service manager: the protocol of sd_notify(3). Without NOTIFY_SOCKET
 * these functions do nothing.
 */
#ifndef CLI_SERVICE_H
#define CLI_SERVICE_H

#include <riptide/agent.h>

struct service {
    uint64_t watchdog_ns;  /* half of the manager's timeout; 0: no watchdog */
    uint64_t told_ns;      /* CLOCK_MONOTONIC: of the last notification to the manager */
    uint64_t last_tick_ns; /* CLOCK_MONOTONIC */
    uint64_t interval_ns;  /* from that round to the next */
    bool is_ready;         /* and the manager was notified */
    bool has_failed;       /* the present round */
};

/* Reads the environment. */
void service_open(struct service *service);

/* Reports READY after the first round without a failure. */
void service_event(struct service *service, const struct riptide_agent_event *event);

/* Tells the watchdog that rounds complete, if that is due. Returns the timeout for poll, ms; -1: none. */
int service_turn(struct service *service);

void service_stopping(void);

#endif
