/* SPDX-License-Identifier: MIT */
/*
 * Bytes over a Unix socket, and an fd beside them (SCM_RIGHTS).
 */
#ifndef CLI_PASSED_FD_H
#define CLI_PASSED_FD_H

#include <stddef.h>
#include <sys/types.h>

/* send(2), with an fd beside the first byte; -1: none. */
ssize_t passed_fd_send(int socket, const void *bytes, size_t n, int fd, int flags);

/*
 * recv(2). An fd that came along takes the place of *fdp, which is closed where it is one. Without
 * a place (NULL) the kernel throws it away.
 */
ssize_t passed_fd_receive(int socket, void *bytes, size_t size, int *fdp, int flags);

#endif
