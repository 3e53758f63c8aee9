/* SPDX-License-Identifier: MIT */
/*
 * The lock. Who asks connects, reads our credentials from the kernel and leaves.
 */
#include "lock.h"

#include "internal.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char name[] = "\0riptide.router";

/* Who wait to be answered, and as many are in one dispatch: anybody may ask, as fast as he can. */
enum { BACKLOG = 8 };

static socklen_t address_of(struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    memcpy(address->sun_path, name, sizeof(name) - 1);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof(name) - 1);
}

int lock_find(pid_t *holderp)
{
    struct sockaddr_un address;
    socklen_t n_bytes = address_of(&address);
    struct ucred peer = { 0 };
    socklen_t peer_bytes = sizeof(peer);
    CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -errno;
    /* EAGAIN: somebody is there, and many ask. */
    if (connect(fd, (const struct sockaddr *)&address, n_bytes) < 0 && errno != EAGAIN)
        return RIPTIDE_E_UNKNOWN;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_bytes) < 0 || peer.pid < 0)
        peer.pid = 0;
    *holderp = peer.pid;
    return 0;
}

int lock_take(int *fdp, pid_t *holderp)
{
    struct sockaddr_un address;
    socklen_t n_bytes = address_of(&address);
    CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -errno;
    if (bind(fd, (const struct sockaddr *)&address, n_bytes) < 0) {
        if (errno != EADDRINUSE)
            return -errno;
        if (lock_find(holderp) != 0)
            *holderp = 0;
        return -EBUSY;
    }
    if (listen(fd, BACKLOG) < 0)
        return -errno;
    *fdp = fd;
    fd = -1;
    return 0;
}

bool lock_answer(int fd)
{
    for (int i = 0; i < BACKLOG; i++) {
        int visitor = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

        if (visitor < 0)
            return false;
        close(visitor);
    }
    return true;
}
