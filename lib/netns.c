/* SPDX-License-Identifier: MIT */
/* The lock (see netns.h), and functions on namespaces for tools. */
#include "netns.h"

#include "internal.h"
#include "tools.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

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

/* Of the calling thread; 0: unknown. */
static ino_t identify(void)
{
    struct stat found;

    return stat("/proc/thread-self/ns/net", &found) < 0 ? 0 : found.st_ino;
}

int lock_open(struct lock *lock)
{
    lock->netns = identify();
    lock->is_taken = false;
    lock->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return lock->fd < 0 ? -errno : 0;
}

void lock_close(struct lock *lock)
{
    closep(&lock->fd);
    lock->is_taken = false;
}

void lock_answer(const struct lock *lock)
{
    int visitor;

    for (int i = 0; i <= BACKLOG && lock->is_taken; i++) {
        visitor = accept4(lock->fd, NULL, NULL, SOCK_CLOEXEC);
        if (visitor < 0)
            return;
        close(visitor);
    }
}

/* Only in the lock's own namespace its holder can be asked for. */
static void explain_busy(const struct lock *lock, struct riptide_error *error)
{
    int holder = 0;

    if (lock->netns == 0 || lock->netns != identify() || riptide_router_get_holder(&holder) != 0)
        holder = 0;
    if (holder == 0)
        error_set(error, "another process or agent already manages this network namespace; stop "
                         "it first");
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
}

int lock_take(struct lock *lock, struct riptide_error *error)
{
    struct sockaddr_un address;
    socklen_t n_bytes = address_of(&address);

    if (lock->is_taken)
        return 0;
    if (bind(lock->fd, (const struct sockaddr *)&address, n_bytes) < 0) {
        if (errno != EADDRINUSE)
            return -errno;
        explain_busy(lock, error);
        return -EBUSY;
    }
    if (listen(lock->fd, BACKLOG) < 0)
        return -errno;
    lock->is_taken = true;
    return 0;
}
