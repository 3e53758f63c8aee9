/* SPDX-License-Identifier: MIT */
/*
 * setns(2) there and back; see netns.h. And what tools ask of namespaces.
 */
#include "netns.h"

#include "internal.h"
#include "tools.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

bool riptide_netns_is_at(int netns_fd, const char *path)
{
    struct stat held, found;

    if (fstat(netns_fd, &held) < 0)
        return false;
    /* Not being allowed to look is no sign of anything. */
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

struct netns_id netns_identify(int netns_fd)
{
    struct stat found;
    int r = netns_fd == -1 ? stat("/proc/thread-self/ns/net", &found) : fstat(netns_fd, &found);

    if (r < 0)
        return (struct netns_id){ 0 };
    return (struct netns_id){ found.st_dev, found.st_ino };
}

bool netns_is_other(const struct netns_id *id, int netns_fd)
{
    struct netns_id other = netns_identify(netns_fd);

    return id->ino != 0 && other.ino != 0 && (id->dev != other.dev || id->ino != other.ino);
}

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
                        "another network namespace needs CAP_SYS_ADMIN here and there");
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
