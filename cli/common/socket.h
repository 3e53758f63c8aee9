/* SPDX-License-Identifier: MIT */
/*
 * What riptided and its clients agree on besides the requests, which docs/control.md describes; the
 * control socket as clients see it, and the processes that they find.
 */
#ifndef CLI_SOCKET_H
#define CLI_SOCKET_H

#include <stdint.h>

/* The default path of the control socket. */
#define CONTROL_PATH "/run/riptide/control"

/* The longest time of a hint: a year. */
#define REQUEST_MAX_HINT_MS (INT64_C(1000) * 3600 * 24 * 366)

/*
 * Returns the fd of a stream socket that is connected to the path; each of its reads and writes
 * fails with EAGAIN after the timeout. *pidp is the process that listens; 0: none, or it cannot be
 * seen from this PID namespace. Errors: -ENAMETOOLONG, those of socket(2) and connect(2).
 */
int socket_connect(const char *path, int timeout_s, int *pidp);

enum { PROCESS_TEXT_BYTES = 48 };

/* "process 17"; `pid` is the manager of a namespace, as riptide_applier_flush returns it. */
const char *process_describe(char text[PROCESS_TEXT_BYTES], int pid);

#endif
