/* SPDX-License-Identifier: MIT */
/*
 * What the daemon says to requests, and does for them: the interface of request.h over its agent.
 */
#ifndef CLI_ANSWERS_H
#define CLI_ANSWERS_H

#include "daemon.h"
#include "request.h"

/* The interface; the daemon must stay where it is. */
struct request_daemon answers_of(struct daemon *daemon);

/* Notes what an event says about how the daemon is. */
void answers_note(struct daemon *daemon, const struct riptide_agent_event *event);

#endif
