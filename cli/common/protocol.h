/* SPDX-License-Identifier: MIT */
/* What riptided and its clients agree on besides the requests, which docs/control.md describes. */
#ifndef CLI_PROTOCOL_H
#define CLI_PROTOCOL_H

#include <stdint.h>

/* The default path of the control socket. */
#define CONTROL_PATH "/run/riptide/control"

/* The longest time of a hint: a year. */
#define REQUEST_MAX_HINT_MS (INT64_C(1000) * 3600 * 24 * 366)

#endif
