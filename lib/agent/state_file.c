/*
 * An estimator's state in a file: whole or not at all, whenever the power fails. What the bytes
 * mean is lib/compute/state.c's.
 */
#include "agent/clock.h"
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <riptide/agent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* More than max_destinations can be. */
enum { MAX_BYTES = 1 << 30 };

static int fail(struct riptide_error *error, const char *path, const char *action, int code)
{
    error_set(error, "%s: %s: %s", path, action, strerror(code));
    return -code;
}

static int write_all(int fd, const unsigned char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t written = write(fd, bytes, n);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return errno;
        bytes += written;
        n -= (size_t)written;
    }
    return 0;
}

/* The new name is on the disk only when its directory is. */
static int sync_directory(const char *path)
{
    char copy[PATH_MAX];
    CLEANUP(closep) int fd = -1;

    snprintf(copy, sizeof(copy), "%s", path);
    fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 || fsync(fd) < 0 ? errno : 0;
}

/* A rename takes the place of whatever it finds: devices, FIFOs and links are somebody else's. */
static bool is_replaceable(const char *path)
{
    struct stat stat;

    return lstat(path, &stat) < 0 || S_ISREG(stat.st_mode) || S_ISDIR(stat.st_mode);
}

RIPTIDE_PUBLIC int riptide_state_write(const char *path, const void *bytes, size_t n,
                                       struct riptide_error *error)
{
    char temporary[PATH_MAX];
    CLEANUP(closep) int fd = -1;
    int r;

    if ((size_t)snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path) >= sizeof(temporary))
        return fail(error, path, "write", ENAMETOOLONG);
    if (!is_replaceable(path)) {
        error_set(error, "%s: exists and is no regular file, so it is not replaced", path);
        return -EINVAL;
    }
    fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return fail(error, path, "make a file beside it", errno);
    /* It is its owner's alone, who must be able to read it again whatever the umask. */
    r = fchmod(fd, 0600) < 0 ? errno : write_all(fd, bytes, n);
    if (r == 0 && fsync(fd) < 0)
        r = errno;
    if (r == 0 && rename(temporary, path) < 0)
        r = errno;
    if (r != 0) {
        unlink(temporary);
        return fail(error, path, "write", r);
    }
    r = sync_directory(path);
    return r ? fail(error, path, "sync its directory", r) : 0;
}

RIPTIDE_PUBLIC int riptide_state_save(const struct riptide_estimator *estimator, const char *path,
                                      struct riptide_error *error)
{
    uint64_t now_ns = read_clock(CLOCK_BOOTTIME), realtime_ns = read_clock(CLOCK_REALTIME);
    size_t n = riptide_estimator_save(estimator, now_ns, realtime_ns, NULL, 0);
    CLEANUP(freep) unsigned char *bytes = malloc(n);

    if (!bytes)
        return -ENOMEM;
    riptide_estimator_save(estimator, now_ns, realtime_ns, bytes, n);
    return riptide_state_write(path, bytes, n, error);
}

/* All of a regular file. */
RIPTIDE_PUBLIC int riptide_state_read(const char *path, void **bytesp, size_t *np,
                                      struct riptide_error *error)
{
    /* O_NONBLOCK: a FIFO in its place must not hold up the start. */
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    CLEANUP(freep) unsigned char *bytes = NULL;
    struct stat stat;
    size_t n = 0;

    if (fd < 0 || fstat(fd, &stat) < 0)
        return fail(error, path, "read", errno);
    if (!S_ISREG(stat.st_mode) || stat.st_size > MAX_BYTES) {
        error_set(error, "%s: is no regular file, or larger than any state", path);
        return -EINVAL;
    }
    bytes = malloc((size_t)stat.st_size + 1);
    if (!bytes)
        return -ENOMEM;
    while (n < (size_t)stat.st_size) {
        ssize_t got = read(fd, bytes + n, (size_t)stat.st_size - n);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail(error, path, "read", errno);
        if (got == 0)
            break;
        n += (size_t)got;
    }
    *np = n;
    *bytesp = bytes;
    bytes = NULL;
    return 0;
}

RIPTIDE_PUBLIC int riptide_state_load(struct riptide_estimator *estimator, const char *path,
                                      struct riptide_load_counts *counts,
                                      struct riptide_error *error)
{
    CLEANUP(freep) void *bytes = NULL;
    struct riptide_error reason = { "" };
    size_t n = 0;
    int r = riptide_state_read(path, &bytes, &n, error);

    if (r < 0)
        return r;
    r = riptide_estimator_load(estimator, read_clock(CLOCK_BOOTTIME), read_clock(CLOCK_REALTIME),
                               bytes, n, counts, &reason);
    if (r != 0)
        error_set(error, "%s: %s", path, reason.text);
    return r;
}
