/* SPDX-License-Identifier: MIT */
/* Requests that change something, hints and the pause, and the list of hints. */
#ifndef CLI_ANSWER_HINTS_H
#define CLI_ANSWER_HINTS_H

#include "request.h"

request_function answer_hints, answer_hint, answer_unhint, answer_pause;

#endif
