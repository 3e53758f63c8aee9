/* SPDX-License-Identifier: MIT */
/* The answer with how one connection opened. */
#ifndef CLI_ANSWER_OPENED_H
#define CLI_ANSWER_OPENED_H

#include "request.h"

request_function answer_opened;

#endif
