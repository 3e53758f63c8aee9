/* SPDX-License-Identifier: MIT */
/*
 * --netns: the program is single and small, so all of it moves. See netns.h.
 */
#include "netns.h"

#include "lib/tools.h"
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <riptide/riptide.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char path[PATH_MAX];
static int fd = -1;

int netns_enter(const char *name)
{
    int r = 0;

    snprintf(path, sizeof(path), "%s%s", strchr(name, '/') ? "" : "/run/netns/", name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET) < 0)
        r = -errno;
    if (r == -EPERM)
        log_line(LOG_LEVEL_ERROR, "--netns %s: needs CAP_SYS_ADMIN", name);
    else if (r < 0)
        log_line(LOG_LEVEL_ERROR, "--netns %s: %s: %s", name, path,
                 r == -EINVAL ? "not a network namespace" : strerror(-r));
    return r;
}

/* What stands before and behind the number. */
static int split(const char *file)
{
    const char *slash = strrchr(file, '/'), *dot = strrchr(file, '.');

    return (int)(dot && dot > (slash ? slash + 1 : file) ? dot - file : (ptrdiff_t)strlen(file));
}

char *netns_path(const char *file, uint64_t cookie)
{
    int n = split(file);
    char *own;

    return asprintf(&own, "%.*s.%" PRIu64 "%s", n, file, cookie, file + n) < 0 ? NULL : own;
}

int netns_find(const char *file, glob_t *found, uint64_t **cookiesp)
{
    int n = split(file);
    char *pattern;
    int r;

    if (asprintf(&pattern, "%.*s.[0-9]*%s", n, file, file + n) < 0)
        return -ENOMEM;
    r = glob(pattern, 0, NULL, found);
    free(pattern);
    if (r)
        return -ENOENT;
    *cookiesp = calloc(found->gl_pathc, sizeof(**cookiesp));
    if (!*cookiesp) {
        globfree(found);
        return -ENOMEM;
    }
    for (size_t i = 0; i < found->gl_pathc; i++) {
        uint64_t cookie = strtoull(found->gl_pathv[i] + n + 1, NULL, 10);
        char *own = netns_path(file, cookie);

        if (own && !strcmp(own, found->gl_pathv[i]))
            (*cookiesp)[i] = cookie;
        free(own);
    }
    return 0;
}

bool netns_is_gone(void)
{
    return fd >= 0 && !riptide_netns_is_at(fd, path);
}
