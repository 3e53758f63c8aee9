/* SPDX-License-Identifier: MIT */
/*
 * Where cgroup2 is, also where /sys/fs/cgroup is hidden.
 */
#include "apply/program/program.h"

#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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

/* A mount of the whole hierarchy, whatever has been mounted over the usual ones. */
static int open_mounted(void)
{
    char root[256], point[256], line[1024];
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    int fd = -ENOENT;

    while (mounts && fd < 0 && fgets(line, sizeof(line), mounts)) {
        if (strstr(line, " - cgroup2 ") &&
            sscanf(line, "%*s %*s %*s %255s %255s", root, point) == 2 && strcmp(root, "/") == 0)
            fd = open_at(AT_FDCWD, point);
    }
    if (mounts)
        fclose(mounts);
    return fd;
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

/* The path from the root of cgroup2, if it is below a usual mount point; else NULL. */
static const char *path_from_root(const char *path)
{
    for (int i = 1; i >= 0; i--) {
        size_t n = strlen(usual[i]);

        if (strncmp(path, usual[i], n) != 0 || (path[n] && path[n] != '/'))
            continue;
        path += n + strspn(path + n, "/");
        return *path ? path : ".";
    }
    return NULL;
}

/* With nothing mounted on it the directory is that of sysfs. */
static bool is_hidden(void)
{
    struct statfs found;

    return statfs(usual[0], &found) == 0 && found.f_type == SYSFS_MAGIC;
}

static const char *name_of(const struct cgroup *cgroup)
{
    return cgroup->at_fd == AT_FDCWD ? cgroup->path : path_from_root(cgroup->path);
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
    if (cgroup->fd < 0 && (!path || (path_from_root(path) && is_hidden()))) {
        cgroup->at_fd = open_mounted();
        if (cgroup->at_fd < 0)
            cgroup->at_fd = mount_privately();
        if (cgroup->at_fd < 0)
            return error_set_field(error, "cgroup",
                                   "no cgroup2 is mounted here: `ip netns exec` hides it; nsenter "
                                   "--net and riptided@.service do not");
        cgroup->fd = open_at(cgroup->at_fd, name_of(cgroup));
    }
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
