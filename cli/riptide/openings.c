/* SPDX-License-Identifier: MIT */
#include "openings.h"

#include "command.h"
#include "kernel.h"
#include "members.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

enum search { SEARCH_MISSED, SEARCH_FOUND, SEARCH_FAILED };

/* Looks for a cgroup, by its number, in the directory and all below it. Closes the fd. */
static enum search search_below(int fd, uint64_t cgroup_id)
{
    enum search search = SEARCH_MISSED, found;
    const struct dirent *entry;
    DIR *directory = fdopendir(fd);
    int below;

    if (!directory) {
        close(fd);
        return SEARCH_FAILED;
    }
    while (search != SEARCH_FOUND && (entry = readdir(directory))) {
        if (entry->d_type != DT_DIR || strcmp(entry->d_name, "..") == 0)
            continue;
        if (entry->d_ino == cgroup_id) {
            search = SEARCH_FOUND;
        } else if (strcmp(entry->d_name, ".") != 0) {
            below = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            /* One that was removed since has no sockets that open. */
            found = errno == ENOENT ? SEARCH_MISSED : SEARCH_FAILED;
            if (below >= 0)
                found = search_below(below, cgroup_id);
            if (found != SEARCH_MISSED)
                search = found;
        }
    }
    closedir(directory);
    return search;
}

/* Not that of cgroup2: another mount may hide it from here, as in `ip netns exec`. */
static bool is_hidden(int fd)
{
    struct statfs found;

    return fstatfs(fd, &found) < 0 || found.f_type != CGROUP2_SUPER_MAGIC;
}

static bool is_outside(struct openings *openings, uint64_t cgroup_id)
{
    int fd;

    if (cgroup_id == 0 || openings->cgroup[0] == '\0')
        return false;
    if (cgroup_id != openings->cgroup_id) {
        fd = open(openings->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        openings->cgroup_id = cgroup_id;
        openings->is_outside = false;
        if (fd >= 0 && is_hidden(fd))
            close(fd);
        else if (fd >= 0)
            openings->is_outside = search_below(fd, cgroup_id) == SEARCH_MISSED;
    }
    return openings->is_outside;
}

static enum opening_how find_how(struct openings *openings, const json_t *answer,
                                 const struct riptide_sample *sample)
{
    const char *by = text_of(answer, "by");

    if (strcmp(by, "program") == 0)
        return OPENING_PROGRAM;
    if (strcmp(by, "routes") == 0)
        return OPENING_ROUTE;
    if (strcmp(by, "holdout") == 0)
        return OPENING_HELD_OUT;
    if (is_outside(openings, sample->cgroup_id))
        return OPENING_OUTSIDE;
    return sample->data_segs_out == 0 && sample->cwnd == TCP_INIT_CWND ? OPENING_WITHOUT
                                                                       : OPENING_UNKNOWN;
}

struct opening openings_ask(struct openings *openings, const struct riptide_sample *sample)
{
    struct opening opening = { .how = OPENING_NO_ANSWER };
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];
    struct riptide_error error;
    json_t *answer;
    int pid;

    riptide_prefix_format(&sample->dst, dst);
    if (openings->is_silent ||
        client_ask(openings->control,
                   json_pack("{s:s, s:s, s:I, s:I, s:I}", "request", "opened", "dst", dst, "cookie",
                             (json_int_t)sample->cookie, "busy_time_us",
                             (json_int_t)sample->busy_time_us, "last_data_sent_ms",
                             (json_int_t)sample->last_data_sent_ms),
                   &answer, &pid, &error) < 0) {
        openings->is_silent = true;
        return opening;
    }
    snprintf(openings->cgroup, sizeof(openings->cgroup), "%s", text_of(answer, "cgroup"));
    opening.how = find_how(openings, answer, sample);
    opening.initcwnd = (uint32_t)number(answer, "initcwnd");
    opening.window = (uint32_t)number(answer, "window");
    json_decref(answer);
    return opening;
}
