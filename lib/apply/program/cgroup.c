/* SPDX-License-Identifier: MIT */
/* Where cgroup2 is, also where /sys/fs/cgroup is hidden. */
#include "apply/program/program.h"
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Where service managers mount cgroup2, beside cgroup v1 in a directory of a tmpfs there. */
#define USUAL "/sys/fs/cgroup"

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

/* A mount that has no place in a tree, so that nobody else sees it. Needs CAP_SYS_ADMIN. */
static int mount_privately(void)
{
    CLEANUP(closep) int context_fd = (int)syscall(SYS_fsopen, "cgroup2", FSOPEN_CLOEXEC);
    CLEANUP(closep) int fd = -1;

    if (context_fd < 0 ||
        syscall(SYS_fsconfig, context_fd, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return -errno;
    fd = (int)syscall(SYS_fsmount, context_fd, FSMOUNT_CLOEXEC, 0);
    return fd < 0 ? -errno : open_at(fd, ".");
}

/* The path from the root of cgroup2, if it is in /sys/fs/cgroup, and that is hidden by sysfs. */
static const char *hidden_name(const char *path)
{
    size_t n = strlen(USUAL);
    struct statfs found;

    if (strncmp(path, USUAL, n) != 0 || (path[n] && path[n] != '/') || statfs(USUAL, &found) < 0 ||
        found.f_type != SYSFS_MAGIC)
        return NULL;
    path += n + strspn(path + n, "/");
    return *path ? path : ".";
}

int cgroup_open(struct cgroup *cgroup, struct riptide_error *error)
{
    closep(&cgroup->fd);
    cgroup->fd = open_at(cgroup->at_fd, cgroup->name);
    if (cgroup->fd >= 0)
        return 0;
    if (cgroup->fd == -EINVAL)
        return error_set_field(error, "cgroup", "%s is no directory of cgroup2", cgroup->path);
    if (cgroup->fd != -ENOENT)
        return error_set_field(error, "cgroup", "%s: %s", cgroup->path, strerror(-cgroup->fd));
    error_set_field(error, "cgroup", "%s is not there: make it first", cgroup->path);
    return -ENOENT;
}

int cgroup_find(struct cgroup *cgroup, const char *path, struct riptide_error *error)
{
    struct statfs found;
    bool is_beside_v1 = statfs(USUAL, &found) == 0 && found.f_type == TMPFS_MAGIC;
    const char *usual = is_beside_v1 ? USUAL "/unified" : USUAL, *hidden;
    int r;

    *cgroup = (struct cgroup){ .path = strdup(path ? path : usual), .at_fd = AT_FDCWD, .fd = -1 };
    if (!cgroup->path)
        return -ENOMEM;
    cgroup->name = cgroup->path;
    hidden = path ? hidden_name(cgroup->path) : ".";
    r = cgroup_open(cgroup, error);
    if (r == 0 || !hidden)
        return r;
    cgroup->name = hidden;
    cgroup->at_fd = mount_privately();
    if (cgroup->at_fd < 0)
        return error_set_field(error, "cgroup",
                               "no cgroup2 is mounted here: `ip netns exec` hides it; nsenter "
                               "--net and riptided@.service do not");
    return cgroup_open(cgroup, error);
}

bool cgroup_is_removed(const struct cgroup *cgroup)
{
    struct stat held, found;

    if (fstat(cgroup->fd, &held) < 0)
        return true;
    /* Without the permission to look, assumes that it is still there. */
    if (fstatat(cgroup->at_fd, cgroup->name, &found, 0) < 0)
        return errno == ENOENT || errno == ENOTDIR;
    return held.st_dev != found.st_dev || held.st_ino != found.st_ino;
}

void cgroup_close(struct cgroup *cgroup)
{
    closep(&cgroup->fd);
    closep(&cgroup->at_fd);
    free(cgroup->path);
}
