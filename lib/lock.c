/* SPDX-License-Identifier: MIT */
/*
 * The lock is a Unix socket with an abstract name, which the kernel keeps per namespace and gives
 * back when its owner dies, however it dies. Who asks connects, reads our credentials from the
 * kernel and leaves.
 */
#include "lock.h"

#include "internal.h"
#include "netns.h"
#include "tools.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char name[] = "\0riptide.router";

/* Who wait to be let go; later ones do not see who we are. Anybody may ask, as fast as he can. */
enum { BACKLOG = 64 };

static socklen_t address_of(struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    memcpy(address->sun_path, name, sizeof(name) - 1);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof(name) - 1);
}

int riptide_router_get_holder(int *pidp)
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
    *pidp = peer.pid;
    return 0;
}

static int take_name(int *fdp, int *holderp)
{
    struct sockaddr_un address;
    socklen_t n_bytes = address_of(&address);
    CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -errno;
    if (bind(fd, (const struct sockaddr *)&address, n_bytes) < 0) {
        if (errno != EADDRINUSE)
            return -errno;
        if (riptide_router_get_holder(holderp) != 0)
            *holderp = 0;
        return -EBUSY;
    }
    if (listen(fd, BACKLOG) < 0)
        return -errno;
    *fdp = fd;
    fd = -1;
    return 0;
}

void lock_answer(int lock_fd)
{
    int visitor;

    for (int i = 0; i <= BACKLOG; i++) {
        visitor = accept4(lock_fd, NULL, NULL, SOCK_CLOEXEC);
        if (visitor < 0)
            return;
        close(visitor);
    }
}

int lock_take(int *fdp, int netns_fd, struct riptide_error *error)
{
    CLEANUP(closep) int fd = -1;
    struct netns_visit visit;
    int holder = 0, r = netns_visit(&visit, netns_fd, "router.netns_fd", error);

    if (r == 0)
        r = netns_return(&visit, take_name(&fd, &holder), error);
    if (r == 0) {
        *fdp = fd;
        fd = -1;
    }
    if (r != -EBUSY)
        return r;
    if (holder == 0)
        error_set(error, "another process already manages this network namespace; stop it first");
    else if (holder == getpid())
        error_set(error, "this process already manages this network namespace, with another "
                         "router or agent; stop that first");
    else if (kill(holder, 0) < 0 && errno == ESRCH)
        error_set(error,
                  "process %d has ended, but a child that it forked keeps this network namespace; "
                  "end that child, or let it free its copy",
                  holder);
    else
        error_set(error, "process %d already manages this network namespace; stop it first",
                  holder);
    return r;
}
