/* SPDX-License-Identifier: MIT */
/* All requests of the control socket. docs/control.md has the members of the answers. */
#ifndef CLI_ANSWERS_H
#define CLI_ANSWERS_H

#include "request.h"

/* The table of all requests, with the functions below. */
extern const struct verb answers[];

/* About the whole daemon. */
request_function answer_status, answer_verdict, answer_history, answer_metrics;

/* All destinations, in pages. */
request_function answer_show;

/* How the connections to a destination start, why so, and what to do. */
request_function answer_explain;

/* How one connection opened. */
request_function answer_opened;

/* Requests that change something, hints and the pause, and the list of hints. */
request_function answer_hints, answer_hint, answer_unhint, answer_pause;

#endif
