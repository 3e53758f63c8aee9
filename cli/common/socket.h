/* SPDX-License-Identifier: MIT */
/* The control socket as its clients see it, and the processes that they find. */
#ifndef CLI_SOCKET_H
#define CLI_SOCKET_H

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
