/* SPDX-License-Identifier: MIT */
/* setns(2) and back, the lock (see netns.h), and functions on namespaces for tools. */
#include "netns.h"

#include "internal.h"
#include "tools.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

bool riptide_netns_is_at(int netns_fd, const char *path)
{
    struct stat held, found;

    if (fstat(netns_fd, &held) < 0)
        return false;
    /* Without the permission to look, assumes that the object is still there. */
    if (stat(path, &found) < 0)
        return errno != ENOENT && errno != ENOTDIR && errno != ESRCH;
    return held.st_dev == found.st_dev && held.st_ino == found.st_ino;
}

bool riptide_paths_are_same(const char *one, const char *other)
{
    struct stat ones, others;

    return strcmp(one, other) == 0 ||
           (stat(one, &ones) == 0 && stat(other, &others) == 0 && ones.st_dev == others.st_dev &&
            ones.st_ino == others.st_ino);
}

/* Debian 11's headers do not have it. */
#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

int riptide_netns_get_cookie(uint64_t *cookiep)
{
    socklen_t n_bytes = sizeof(*cookiep);
    CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, cookiep, &n_bytes) < 0)
        return -errno;
    return 0;
}

/*
 * A socket starts with tcp_rmem[1] bytes, of which tcp_win_from_space() offers half with the
 * default scaling ratio (include/net/tcp.h, TCP_DEFAULT_SCALING_RATIO and tcp_adv_win_scale 1).
 */
int riptide_receiver_get_initrwnd(uint32_t mss_bytes, uint32_t *initrwndp)
{
    CLEANUP(closep) int fd = open("/proc/sys/net/ipv4/tcp_rmem", O_RDONLY | O_CLOEXEC);
    unsigned long long rmem_default_bytes, segments;
    char text[128];
    ssize_t n;

    if (mss_bytes == 0)
        return -EINVAL;
    if (fd < 0)
        return -errno;
    n = read(fd, text, sizeof(text) - 1);
    if (n < 0)
        return -errno;
    text[n] = '\0';
    if (sscanf(text, "%*u %llu", &rmem_default_bytes) != 1)
        return -EBADMSG;
    segments = rmem_default_bytes / 2 / mss_bytes;
    *initrwndp = segments < UINT32_MAX ? (uint32_t)segments : UINT32_MAX;
    return 0;
}

int netns_visit(struct netns_visit *visit, int netns_fd, const char *field,
                struct riptide_error *error)
{
    int r;

    *visit = (struct netns_visit){ .home_fd = -1, .field = field };
    if (netns_fd == -1)
        return 0;
    visit->home_fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (visit->home_fd < 0) {
        r = -errno;
        error_set(error, "/proc/thread-self/ns/net: %s", strerror(-r));
        return r;
    }
    if (setns(netns_fd, CLONE_NEWNET) == 0)
        return 0;
    r = -errno;
    closep(&visit->home_fd);
    if (r == -EPERM)
        error_set_field(error, field,
                        "entering another network namespace needs CAP_SYS_ADMIN in both");
    else
        error_set_field(error, field, "no network namespace: %s", strerror(-r));
    return r;
}

int netns_return(const struct netns_visit *visit, int r, struct riptide_error *error)
{
    CLEANUP(closep) int home_fd = visit->home_fd;

    if (home_fd < 0 || setns(home_fd, CLONE_NEWNET) == 0)
        return r;
    error_set(error, "this thread is left in the network namespace of %s: %s", visit->field,
              strerror(errno));
    return -ENOTRECOVERABLE;
}

/*
 * The lock is a Unix socket with an abstract name, which exists per namespace and is released when
 * its owner dies, however it dies. A client connects, reads our credentials from the kernel and
 * closes.
 */
static const char lock_name[] = "\0riptide.router";

/* Waiting clients; later ones cannot see our process. Any process may connect, at any rate. */
enum { BACKLOG = 64 };

static socklen_t address_of(struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    memcpy(address->sun_path, lock_name, sizeof(lock_name) - 1);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof(lock_name) - 1);
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
    /* EAGAIN: there is a holder, whose queue of clients is full. */
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
