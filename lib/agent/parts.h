/* SPDX-License-Identifier: MIT */
/*
 * What an agent is made of, for the files of this folder.
 */
#ifndef RIPTIDE_LIB_AGENT_PARTS_H
#define RIPTIDE_LIB_AGENT_PARTS_H

#include "agent/interval.h"
#include "apply/backend.h"

#include <riptide/agent.h>
#include <sys/types.h>

/* Where a round stands. */
enum phase {
    PHASE_WAITING,   /* for the time of the next one */
    PHASE_OBSERVING, /* the dump is under way */
    PHASE_HANDING,   /* what was computed goes to the router, a part in each dispatch */
    PHASE_APPLYING,  /* the router has the changes */
    PHASE_STOPPED,   /* for good */
};

struct riptide_agent {
    pid_t pid; /* of the process that made it */
    struct interval interval;
    int epoll_fd;
    int timer_fd;
    int work_fd; /* readable always; we wait for it while there is something to hand over */
    struct riptide_observer *observer;
    struct riptide_estimator *estimator;
    struct riptide_router *router;
    const struct backend *backend; /* that windows are given to, */
    void *backend_self;            /* and what it is called for */
    struct riptide_router_config router_config; /* as the router has it */
    void (*on_sample)(void *user, const struct riptide_sample *sample); /* or NULL */
    void *user;
    enum phase phase;
    bool has_dumped;          /* open connections of this round are in the estimator */
    uint64_t next_ns;         /* when the next round begins */
    struct riptide_tick tick; /* of the round under way */
    /* Popped from the estimator, and not with the router yet; or NULL. */
    const struct riptide_estimate *in_hand;
    struct riptide_tick next; /* of the next one: connections that closed since the dump */
    /* What waits to be popped beside the routes. */
    struct riptide_tick finished;
    bool is_tick_news;
    const char *reasons[2]; /* why rules are not in place, as the host has heard it */
    int events_error;       /* why there are no destroy events, likewise */
    int failure;
    struct riptide_estimate estimate;
    struct riptide_agent_event event;
};

#endif
