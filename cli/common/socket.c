/* SPDX-License-Identifier: MIT */
#include "socket.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

int socket_connect(const char *path, int timeout_s, int *pidp)
{
    const struct timeval timeout = { .tv_sec = timeout_s };
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct ucred peer = { .pid = 0 };
    socklen_t n_bytes = sizeof(peer);
    int fd, r = 0;

    *pidp = 0;
    if (strlen(path) >= sizeof(address.sun_path))
        return -ENAMETOOLONG;
    memcpy(address.sun_path, path, strlen(path) + 1);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        r = -errno;
    /* A connection that waits to be accepted knows its peer as well. */
    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n_bytes);
    *pidp = peer.pid;
    if (r < 0) {
        close(fd);
        return r;
    }
    return fd;
}

const char *process_describe(char text[PROCESS_TEXT_BYTES], int pid)
{
    if (pid == INT_MAX)
        return "a process that cannot be seen from here";
    snprintf(text, PROCESS_TEXT_BYTES, "process %d", pid);
    return text;
}
