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

/* A mount that has no place in a tree, so that nobody else sees it. Needs CAP_SYS_ADMIN. */
static int mount_privately(void)
{
    CLEANUP(closep) int context_fd = (int)syscall(SYS_fsopen, "cgroup2", FSOPEN_CLOEXEC);

    if (context_fd < 0 ||
        syscall(SYS_fsconfig, context_fd, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return -1;
    return (int)syscall(SYS_fsmount, context_fd, FSMOUNT_CLOEXEC, 0);
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

int cgroup_open(const struct cgroup *cgroup, struct riptide_error *error)
{
    CLEANUP(closep) int fd =
        openat(cgroup->at_fd, cgroup->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int opened = fd, r = -errno;
    struct statfs found;

    if (fd >= 0 && fstatfs(fd, &found) == 0 && found.f_type == CGROUP2_SUPER_MAGIC) {
        fd = -1;
        return opened;
    }
    if (fd >= 0)
        return error_set_field(error, "cgroup", "%s is no directory of cgroup2", cgroup->path);
    if (r == -ENOENT)
        error_set_field(error, "cgroup", "%s is not there: make it first", cgroup->path);
    else
        error_set_field(error, "cgroup", "%s: %s", cgroup->path, strerror(-r));
    return r == -ENOENT ? r : -EINVAL;
}

int cgroup_find(struct cgroup *cgroup, const char *path, struct riptide_error *error)
{
    struct statfs found;
    bool is_beside_v1 = statfs(USUAL, &found) == 0 && found.f_type == TMPFS_MAGIC;
    const char *usual = is_beside_v1 ? USUAL "/unified" : USUAL, *hidden;
    CLEANUP(closep) int fd = -1;

    *cgroup = (struct cgroup){ .path = strdup(path ? path : usual), .at_fd = AT_FDCWD };
    if (!cgroup->path)
        return -ENOMEM;
    cgroup->name = cgroup->path;
    hidden = path ? hidden_name(cgroup->path) : ".";
    fd = cgroup_open(cgroup, error);
    if (fd < 0 && hidden) {
        cgroup->name = hidden;
        cgroup->at_fd = mount_privately();
        if (cgroup->at_fd < 0)
            return error_set_field(error, "cgroup",
                                   "no cgroup2 is mounted here: `ip netns exec` hides it; nsenter "
                                   "--net and riptided@.service do not");
        fd = cgroup_open(cgroup, error);
    }
    return fd < 0 ? fd : 0;
}

bool cgroup_is(const struct cgroup *cgroup, uint64_t id)
{
    struct stat found;

    /* Without the permission to look, assumes that it is still there. */
    if (fstatat(cgroup->at_fd, cgroup->name, &found, 0) < 0)
        return errno != ENOENT && errno != ENOTDIR;
    return found.st_ino == id;
}
