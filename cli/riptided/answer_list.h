/* SPDX-License-Identifier: MIT */
/* The answer with all destinations, in pages. */
#ifndef CLI_ANSWER_LIST_H
#define CLI_ANSWER_LIST_H

#include "request.h"

request_function answer_show;

#endif
