/* SPDX-License-Identifier: MIT */
/*
 * What a router is made of, for the files that the host calls.
 */
#ifndef RIPTIDE_LIB_APPLY_PARTS_H
#define RIPTIDE_LIB_APPLY_PARTS_H

#include "netlink.h"
#include "plan.h"
#include "scan.h"

#include <sys/types.h>

struct riptide_router {
    pid_t pid; /* of the process that made it */
    struct plan plan;
    struct netlink channel; /* requests */
    struct scan scan;
    struct mnl_socket *notifications;
    int epoll_fd;
    int work_fd;      /* eventfd: readable while there is work */
    bool is_readable; /* the eventfd, because of it */
    bool is_started;
    bool is_paused;
    int lock_fd;         /* -1: not started, or dry_run */
    int netns_fd;        /* -1: the thread's own */
    uint32_t n_setbacks; /* dispatches in a row that began anew for want of something */
    struct riptide_route popped;
};

#endif
