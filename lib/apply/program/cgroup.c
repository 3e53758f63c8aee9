/* SPDX-License-Identifier: MIT */
/*
 * Where cgroup2 is.
 */
#include "apply/program/cgroup.h"

#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Where service managers mount cgroup2: alone, or beside cgroup v1. */
static const char *const usual[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };

/* Opens a directory of cgroup2. Errors: -EINVAL: it is none; those of openat(2). */
static int open_at(int at_fd, const char *path)
{
    CLEANUP(closep) int fd = openat(at_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct statfs found;
    int opened = fd;

    if (fd < 0)
        return -errno;
    if (fstatfs(fd, &found) < 0 || found.f_type != CGROUP2_SUPER_MAGIC)
        return -EINVAL;
    fd = -1;
    return opened;
}

static const char *name_of(const struct cgroup *cgroup)
{
    return cgroup->path;
}

int cgroup_open(struct cgroup *cgroup, const char *path, struct riptide_error *error)
{
    const char *wanted = path ? path : usual[0];

    *cgroup = (struct cgroup){ .at_fd = AT_FDCWD, .fd = open_at(AT_FDCWD, wanted) };
    if (!path && cgroup->fd < 0) {
        cgroup->fd = open_at(AT_FDCWD, usual[1]);
        wanted = cgroup->fd < 0 ? usual[0] : usual[1];
    }
    cgroup->path = strdup(wanted);
    if (!cgroup->path)
        return -ENOMEM;
    /* -ENOENT is not final: a service manager may make the cgroup later. */
    if (cgroup->fd == -ENOENT) {
        error_set_field(error, "cgroup", "%s is not there: make it first", wanted);
        return -ENOENT;
    }
    if (cgroup->fd < 0)
        return error_set_field(error, "cgroup", "%s is no directory of cgroup2", wanted);
    return 0;
}

int cgroup_open_again(struct cgroup *cgroup, struct riptide_error *error)
{
    closep(&cgroup->fd);
    cgroup->fd = open_at(cgroup->at_fd, name_of(cgroup));
    if (cgroup->fd == -ENOENT || cgroup->fd == -EINVAL)
        return error_set_field(error, "cgroup",
                               "%s is gone; connections get windows again when it is made anew",
                               cgroup->path);
    if (cgroup->fd < 0)
        return error_set_field(error, "cgroup",
                               "%s: %s; connections get windows again when it can be opened",
                               cgroup->path, strerror(-cgroup->fd));
    return 0;
}

bool cgroup_is_removed(const struct cgroup *cgroup)
{
    struct stat held, found;

    if (fstat(cgroup->fd, &held) < 0)
        return true;
    /* Without the permission to look, assumes that it is still there. */
    if (fstatat(cgroup->at_fd, name_of(cgroup), &found, 0) < 0)
        return errno == ENOENT || errno == ENOTDIR;
    return held.st_dev != found.st_dev || held.st_ino != found.st_ino;
}

void cgroup_close(struct cgroup *cgroup)
{
    closep(&cgroup->fd);
    closep(&cgroup->at_fd);
    free(cgroup->path);
    cgroup->path = NULL;
}
