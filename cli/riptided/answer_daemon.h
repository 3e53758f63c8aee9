/* SPDX-License-Identifier: MIT */
/* Answers about the whole daemon. docs/control.md has their members. */
#ifndef CLI_ANSWER_DAEMON_H
#define CLI_ANSWER_DAEMON_H

#include "request.h"

request_function answer_status, answer_verdict, answer_history, answer_metrics;

#endif
