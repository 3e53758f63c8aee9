/* SPDX-License-Identifier: MIT */
/*
 * An estimator's state in a file, followed by what an operator asked for and by outcomes;
 * lib/compute/state.c, operator_text.c and outcomes_text.c define the text. Files are replaced whole
 * or not at all, and read whole; the programs use this too.
 */
#include "agent/parts.h"
#include "compute/estimator.h"
#include "internal.h"
#include "tools.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(struct riptide_error *error, const char *path, const char *action, int code)
{
    error_set(error, "%s: %s%s", path, action, strerror(code));
    return -code;
}

static int write_all(int fd, const char *bytes, size_t n)
{
    for (ssize_t written = 0; n > 0; bytes += written, n -= (size_t)written) {
        written = write(fd, bytes, n);
        if (written < 0 && errno != EINTR)
            return errno;
        written = written < 0 ? 0 : written;
    }
    return 0;
}

/* Written in pieces: the whole text would be a third of a daemon's memory. */
static int write_state(int fd, const struct riptide_estimator *estimator)
{
    enum { PIECE_BYTES = 4096 };
    uint64_t now_ns = read_clock(CLOCK_BOOTTIME);
    char text[PIECE_BYTES + STATE_LINE_BYTES];
    size_t n = state_put_head(text, read_clock(CLOCK_REALTIME));
    int r = 0;

    FOR_EACH_DESTINATION(estimator, slot)
    {
        n += state_put_line(text + n, estimator, slot, now_ns);
        if (r == 0 && n >= PIECE_BYTES)
            r = write_all(fd, text, n);
        if (n >= PIECE_BYTES)
            n = 0;
    }
    return r == 0 ? write_all(fd, text, n) : r;
}

DIR *riptide_directory_open(const char *path)
{
    char copy[PATH_MAX];

    snprintf(copy, sizeof(copy), "%s", path);
    return opendir(dirname(copy));
}

/* The new name is on disk only when its directory is. */
static int sync_directory(const char *path)
{
    DIR *dir = riptide_directory_open(path);
    /* NOLINTNEXTLINE(clang-analyzer-unix.StdCLibraryFunctions): dirfd cannot fail here */
    int r = dir && fsync(dirfd(dir)) == 0 ? 0 : errno;

    if (dir)
        closedir(dir);
    return r;
}

/* Writes the text of an estimator, if any, then the bytes. */
static int replace(const char *path, const struct riptide_estimator *estimator, const void *bytes,
                   size_t n, unsigned int mode, bool is_synced, struct riptide_error *error)
{
    char temporary[PATH_MAX];
    CLEANUP(closep) int fd = -1;
    struct stat there;
    int r;

    if ((size_t)snprintf(temporary, sizeof(temporary), "%s.tmp-XXXXXX", path) >= sizeof(temporary))
        return fail(error, path, "write: ", ENAMETOOLONG);
    /* A rename replaces anything: devices, FIFOs and links must stay. */
    if (lstat(path, &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode)) {
        error_set(error, "%s: exists and is no regular file, so it is not replaced", path);
        return -EINVAL;
    }
    fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return fail(error, path, "cannot make a temporary file beside it: ", errno);
    r = fchmod(fd, mode) < 0 ? errno : 0;
    if (r == 0 && estimator)
        r = write_state(fd, estimator);
    if (r == 0)
        r = write_all(fd, bytes, n);
    if (r == 0 && is_synced && fsync(fd) < 0)
        r = errno;
    if (r == 0 && rename(temporary, path) < 0)
        r = errno;
    if (r != 0) {
        unlink(temporary);
        return fail(error, path, "write: ", r);
    }
    r = is_synced ? sync_directory(path) : 0;
    return r ? fail(error, path, "sync its directory: ", r) : 0;
}

int riptide_file_write(const char *path, const void *bytes, size_t n, unsigned int mode,
                       bool is_synced, struct riptide_error *error)
{
    return replace(path, NULL, bytes, n, mode, is_synced, error);
}

int riptide_file_read(const char *path, size_t max_bytes, void **bytesp, size_t *np,
                      struct riptide_error *error)
{
    /* O_NONBLOCK: a FIFO in its place must not block the start. */
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    CLEANUP(freep) unsigned char *bytes = NULL;
    struct stat stat;
    size_t n = 0;
    ssize_t got;

    if (fd < 0 || fstat(fd, &stat) < 0)
        return fail(error, path, "", errno);
    if (!S_ISREG(stat.st_mode)) {
        error_set(error, "%s: is %s", path,
                  S_ISDIR(stat.st_mode) ? "a directory" : "no regular file");
        return -EINVAL;
    }
    if ((size_t)stat.st_size > max_bytes) {
        error_set(error, "%s: is larger than %zu bytes", path, max_bytes);
        return -EINVAL;
    }
    bytes = malloc((size_t)stat.st_size + 1);
    if (!bytes)
        return fail(error, path, "", ENOMEM);
    /* Fewer bytes if it has become shorter meanwhile. */
    while (n < (size_t)stat.st_size && (got = read(fd, bytes + n, (size_t)stat.st_size - n)) != 0) {
        if (got < 0 && errno != EINTR)
            return fail(error, path, "", errno);
        n += got > 0 ? (size_t)got : 0;
    }
    bytes[n] = 0;
    *np = n;
    *bytesp = bytes;
    bytes = NULL;
    return 0;
}

/* What follows the state of an agent's estimator. Errors: -ENOMEM. */
static int agent_text(const struct riptide_agent *agent, char **textp, size_t *np)
{
    uint64_t now_ns = read_clock(CLOCK_BOOTTIME), realtime_ns = read_clock(CLOCK_REALTIME);
    CLEANUP(freep) char *asked = NULL;
    CLEANUP(freep) char *outcomes = NULL;
    size_t n_asked = 0, n_outcomes = 0;
    int r = operator_save(agent->estimator, agent->is_paused, now_ns, realtime_ns, &asked,
                          &n_asked);

    if (r == 0)
        r = outcomes_save(&agent->outcomes, now_ns, realtime_ns, &outcomes, &n_outcomes);
    if (r != 0)
        return r;
    *textp = realloc(asked, n_asked + n_outcomes);
    if (!*textp)
        return -ENOMEM;
    asked = NULL;
    if (outcomes)
        memcpy(*textp + n_asked, outcomes, n_outcomes);
    *np = n_asked + n_outcomes;
    return 0;
}

int riptide_state_write(const struct riptide_agent *agent, const char *path, bool is_synced,
                        struct riptide_error *error)
{
    CLEANUP(freep) char *text = NULL;
    size_t n = 0;
    int r = agent_text(agent, &text, &n);

    if (r < 0)
        return fail(error, path, "write: ", -r);
    return replace(path, agent->estimator, text, n, RIPTIDE_STATE_MODE, is_synced, error);
}

RIPTIDE_PUBLIC int riptide_state_save(const struct riptide_estimator *estimator, const char *path,
                                      struct riptide_error *error)
{
    return replace(path, estimator, NULL, 0, RIPTIDE_STATE_MODE, true, error);
}

/*
 * `agent`, if not NULL, also gets what follows the state, even if the clock is wrong and the state
 * refused.
 */
static int load(struct riptide_estimator *estimator, struct riptide_agent *agent, const char *path,
                struct riptide_load_counts *counts, struct riptide_error *outcomes,
                struct riptide_error *error)
{
    uint64_t now_ns = read_clock(CLOCK_BOOTTIME), realtime_ns = read_clock(CLOCK_REALTIME);
    CLEANUP(freep) void *text = NULL;
    struct riptide_error reason = { .text = "" };
    uint32_t n_skipped = 0;
    size_t n = 0;
    int r = riptide_file_read(path, RIPTIDE_STATE_MAX_BYTES, &text, &n, error);

    if (r < 0)
        return r;
    r = riptide_estimator_load(estimator, now_ns, realtime_ns, text, n, counts, &reason);
    if (r != 0)
        error_set(error, "%s: %s", path, reason.text[0] ? reason.text : riptide_strerror(r));
    if (!agent)
        return r;
    outcomes_load(&agent->outcomes, text, n, now_ns, realtime_ns, outcomes);
    if (operator_load(estimator, text, now_ns, realtime_ns, &n_skipped))
        agent->is_paused = true;
    if (n_skipped > 0) {
        n = strlen(outcomes->text);
        snprintf(outcomes->text + n, sizeof(outcomes->text) - n,
                 "; invalid lines of a pause or hints: %" PRIu32, n_skipped);
    }
    agent_apply_pause(agent);
    return r;
}

int riptide_state_read(struct riptide_agent *agent, const char *path,
                       struct riptide_load_counts *counts, struct riptide_error *outcomes,
                       struct riptide_error *error)
{
    outcomes->text[0] = '\0';
    return load(agent->estimator, agent, path, counts, outcomes, error);
}

RIPTIDE_PUBLIC int riptide_state_load(struct riptide_estimator *estimator, const char *path,
                                      struct riptide_load_counts *counts,
                                      struct riptide_error *error)
{
    return load(estimator, NULL, path, counts, NULL, error);
}
