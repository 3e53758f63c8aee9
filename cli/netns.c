/* SPDX-License-Identifier: MIT */
/*
 * --netns: the program is single and small, so all of it moves. --all-netns: walks over a part of
 * cgroup2 and /proc. See netns.h.
 */
#include "netns.h"

#include "lib/internal.h"
#include "lib/tools.h"

#include <dirent.h>
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
#include <sys/stat.h>

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

/* Where a namespace's number is inserted into the name of a file: before its extension. */
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

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

size_t netns_find(const char *file, uint64_t **cookiesp)
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    size_t n = 0, n_before = (size_t)split(name);
    DIR *dir = riptide_directory_open(file);
    const struct dirent *entry;

    *cookiesp = NULL;
    while (dir && (entry = readdir(dir))) {
        uint64_t *cookies, cookie = 0;
        char *own;

        if (strlen(entry->d_name) > n_before)
            cookie = strtoull(entry->d_name + n_before + 1, NULL, 10);
        own = cookie ? netns_path(name, cookie) : NULL;
        if (own && !strcmp(own, entry->d_name) &&
            (cookies = reallocarray(*cookiesp, n + 1, sizeof(*cookies)))) {
            cookies[n++] = cookie;
            *cookiesp = cookies;
        }
        free(own);
    }
    if (dir)
        closedir(dir);
    if (n > 0)
        qsort(*cookiesp, n, sizeof(**cookiesp), compare);
    return n;
}

bool netns_is_gone(void)
{
    return fd >= 0 && !riptide_netns_is_at(fd, path);
}

struct walk {
    char path[PATH_MAX];
    size_t n_root; /* bytes of `path` that name the given cgroup */
    scan_fn *found;
    void *userdata;
    unsigned int n_hidden;
};

ino_t scan_process(pid_t pid)
{
    char name[48];
    struct stat stat_of;

    snprintf(name, sizeof(name), "/proc/%d/ns/net", (int)pid);
    return stat(name, &stat_of) == 0 ? stat_of.st_ino : 0;
}

/* Processes outside our PID namespace are 0 there. */
static void read_processes(struct walk *walk, size_t len)
{
    static const char name[] = "/cgroup.procs";
    char line[24];
    FILE *file;

    memcpy(walk->path + len, name, sizeof(name));
    file = fopen(walk->path, "re");
    walk->path[len] = '\0';
    while (file && fgets(line, sizeof(line), file)) {
        pid_t pid = atoi(line);
        ino_t netns = pid > 0 ? scan_process(pid) : 0;

        if (netns)
            walk->found(walk->userdata, pid, netns, walk->path + walk->n_root);
        else if (pid > 0 && (errno == EACCES || errno == EPERM))
            walk->n_hidden++;
    }
    if (file)
        fclose(file);
}

static void visit(struct walk *walk, size_t len)
{
    const struct dirent *entry;
    DIR *directory;

    read_processes(walk, len);
    directory = opendir(walk->path);
    while (directory && (entry = readdir(directory))) {
        size_t n = strlen(entry->d_name);

        if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
            len + n + sizeof("//cgroup.procs") > sizeof(walk->path))
            continue;
        walk->path[len] = '/';
        memcpy(walk->path + len + 1, entry->d_name, n + 1);
        visit(walk, len + 1 + n);
        walk->path[len] = '\0';
    }
    if (directory)
        closedir(directory);
}

unsigned int scan_cgroup(const char *cgroup, scan_fn *found, void *userdata)
{
    struct walk walk = { .n_root = strlen(cgroup), .found = found, .userdata = userdata };

    if (walk.n_root + sizeof("/cgroup.procs") > sizeof(walk.path))
        return 0;
    memcpy(walk.path, cgroup, walk.n_root + 1);
    visit(&walk, walk.n_root);
    return walk.n_hidden;
}
