/* SPDX-License-Identifier: MIT */
/* The directory of cgroup2 for the program, also where this mount namespace hides cgroup2. */
#include "apply/program/program.h"
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Where service managers mount cgroup2, beside cgroup v1 in a directory of a tmpfs there. */
#define USUAL   "/sys/fs/cgroup"
#define UNIFIED USUAL "/unified"

/* A mount that has no place in a tree, so that nobody else sees it. Needs CAP_SYS_ADMIN. */
static int mount_privately(void)
{
    CLEANUP(closep) int context_fd = (int)syscall(SYS_fsopen, "cgroup2", FSOPEN_CLOEXEC);

    if (context_fd < 0 || syscall(SYS_fsconfig, context_fd, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return -1;
    return (int)syscall(SYS_fsmount, context_fd, FSMOUNT_CLOEXEC, 0);
}

/* The path from the root of cgroup2, if it is in /sys/fs/cgroup, and that is hidden by sysfs. */
static const char *hidden_name(const char *path)
{
    const size_t n = strlen(USUAL);
    struct statfs found;

    if (statfs(USUAL, &found) < 0 || found.f_type != SYSFS_MAGIC || strncmp(path, USUAL, n) != 0 ||
        (path[n] && path[n] != '/'))
        return NULL;
    path += n + strspn(path + n, "/");
    return *path ? path : ".";
}

int cgroup_open(const struct cgroup *cgroup, struct riptide_error *error)
{
    CLEANUP(closep)
    int fd = openat(cgroup->at_fd, cgroup->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int opened = fd, r = -errno;
    struct statfs found;

    if (fd >= 0 && fstatfs(fd, &found) == 0 && found.f_type == CGROUP2_SUPER_MAGIC) {
        fd = -1;
        return opened;
    }
    if (fd >= 0)
        return error_set_field(error, "applier.cgroup", "%s is no directory of cgroup2",
                               cgroup->path);
    if (r == -ENOENT && cgroup->at_fd != AT_FDCWD)
        error_set_field(error, "applier.cgroup", "cgroup2 has no directory %s", cgroup->path);
    else if (r == -ENOENT)
        error_set_field(error, "applier.cgroup", "%s is not there: make it first", cgroup->path);
    else
        error_set_field(error, "applier.cgroup", "%s: %s", cgroup->path, strerror(-r));
    return r == -ENOENT ? r : -EINVAL;
}

int cgroup_find(struct cgroup *cgroup, const char *path, struct riptide_error *error)
{
    struct statfs found;
    bool is_beside_v1 = statfs(USUAL, &found) == 0 && found.f_type == TMPFS_MAGIC;
    const char *usual = is_beside_v1 ? UNIFIED : USUAL, *hidden;
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
            return error_set_field(error, "applier.cgroup",
                                   "no cgroup2 is mounted here: `ip netns exec` hides it; nsenter "
                                   "--net and riptided@.service do not");
        error_set(error, "%s", "");
        fd = cgroup_open(cgroup, error);
    }
    return fd < 0 ? fd : 0;
}
