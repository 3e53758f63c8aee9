/* SPDX-License-Identifier: MIT */
/* --netns: the program is single and small, so all of it moves. See netns.h. */
#include "netns.h"

#include "lib/internal.h"
#include "lib/tools.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <riptide/riptide.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

static char path[PATH_MAX];
static int fd = -1;

int netns_enter(const char *name, struct riptide_error *error)
{
    int r = 0;

    snprintf(path, sizeof(path), "%s%s", strchr(name, '/') ? "" : "/run/netns/", name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET) < 0)
        r = -errno;
    if (r == -EPERM)
        error_set(error, "netns %s: needs CAP_SYS_ADMIN", name);
    else if (r < 0)
        error_set(error, "netns %s: %s: %s", name, path,
                  r == -EINVAL ? "not a network namespace" : strerror(-r));
    error->field = "netns";
    return r;
}

bool netns_is_gone(void)
{
    return fd >= 0 && !riptide_netns_is_at(fd, path);
}
