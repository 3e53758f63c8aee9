/* SPDX-License-Identifier: MIT */
/* The answer of how the connections to a destination start, why so, and what to do. */
#ifndef CLI_ANSWER_EXPLAIN_H
#define CLI_ANSWER_EXPLAIN_H

#include "request.h"

request_function answer_explain;

#endif
