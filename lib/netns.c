/* SPDX-License-Identifier: MIT */
/*
 * setns(2) there and back; see netns.h.
 */
#include "netns.h"

#include "internal.h"
#include "tools.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

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

static int enter(int netns_fd, const char *field, struct riptide_error *error)
{
    int r;

    if (setns(netns_fd, CLONE_NEWNET) == 0)
        return 0;
    r = -errno;
    if (r == -EPERM)
        error_set_field(error, field,
                        "another network namespace needs CAP_SYS_ADMIN here and there");
    else
        error_set_field(error, field, "no network namespace: %s", strerror(-r));
    return r;
}

int netns_call(int netns_fd, const char *field, netns_work_fn *work, void *userdata,
               struct riptide_error *error)
{
    CLEANUP(closep) int home_fd = -1;
    int r;

    if (netns_fd == -1)
        return work(userdata, error);
    home_fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (home_fd < 0) {
        r = -errno;
        error_set(error, "/proc/thread-self/ns/net: %s", strerror(-r));
        return r;
    }
    r = enter(netns_fd, field, error);
    if (r < 0)
        return r;
    r = work(userdata, error);
    if (setns(home_fd, CLONE_NEWNET) == 0)
        return r;
    error_set(error, "this thread is left in the network namespace of %s: %s", field,
              strerror(errno));
    return -ENOTRECOVERABLE;
}
