/* SPDX-License-Identifier: MIT */
/*
 * Walks over a part of cgroup2 and /proc. See scan.h.
 */
#include "scan.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct walk {
    char path[PATH_MAX];
    size_t n_root; /* its bytes that are those of the cgroup asked for */
    scan_fn *found;
    void *userdata;
    unsigned int n_hidden;
};

ino_t scan_process(pid_t pid)
{
    char path[48];
    struct stat stat_of;

    snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
    return stat(path, &stat_of) == 0 ? stat_of.st_ino : 0;
}

/* Processes that are not of our PID namespace are 0 there. */
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
