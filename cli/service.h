/* SPDX-License-Identifier: MIT */
/*
 * The daemon's messages to the service manager: the protocol of sd_notify(3). Without NOTIFY_SOCKET
 * these functions do nothing.
 */
#ifndef CLI_SERVICE_H
#define CLI_SERVICE_H

#include <riptide/agent.h>
#include <sys/socket.h>
#include <sys/un.h>

struct service {
    int fd;       /* -1: no manager */
    int timer_fd; /* readable when a watchdog message is due; -1: no watchdog */
    struct sockaddr_un manager;
    socklen_t manager_bytes;
    uint64_t watchdog_ns;  /* half of the manager's timeout */
    uint64_t last_tick_ns; /* CLOCK_MONOTONIC; 0: no round yet */
    uint64_t interval_ns;  /* from that round to the next */
    bool is_ready;         /* and the manager was notified */
    bool has_failed;       /* the present round */
};

/* Reads the environment. */
void service_open(struct service *service);
void service_close(struct service *service);

/* Reports READY after the first round without a failure. */
void service_event(struct service *service, const struct riptide_agent_event *event);

/* timer_fd is readable: sends a watchdog message, if rounds complete. */
void service_pet(struct service *service);

void service_stopping(struct service *service);

#endif
