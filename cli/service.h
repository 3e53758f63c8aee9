/* SPDX-License-Identifier: MIT */
/*
 * The service manager's side of the daemon: sd_notify(3)'s protocol, written out. Where nobody
 * asked to be notified (NOTIFY_SOCKET), everything here does nothing.
 */
#ifndef CLI_SERVICE_H
#define CLI_SERVICE_H

#include <riptide/agent.h>
#include <sys/socket.h>
#include <sys/un.h>

struct service {
    int fd;       /* -1: nobody listens */
    int timer_fd; /* readable when a sign of life is due; -1: no watchdog */
    struct sockaddr_un manager;
    socklen_t manager_bytes;
    uint64_t watchdog_ns;  /* half of what the manager waits */
    uint64_t last_tick_ns; /* CLOCK_MONOTONIC; 0: no round yet */
    uint64_t interval_ns;  /* from that round to the next */
    bool is_ready;         /* and the manager knows */
    bool has_failed;       /* the round that ends next */
};

/* Reads the environment. */
void service_open(struct service *service);
void service_close(struct service *service);

/* Ready after the first round that did not fail. */
void service_event(struct service *service, const struct riptide_agent_event *event);

/* timer_fd is readable: says that the daemon lives, if its rounds come to their end. */
void service_pet(struct service *service);

void service_stopping(struct service *service);

#endif
