/* SPDX-License-Identifier: MIT */
/* All requests of the control socket, with the functions that answer them. */
#ifndef CLI_ANSWERS_H
#define CLI_ANSWERS_H

#include "request.h"

extern const struct verb answers[];

#endif
