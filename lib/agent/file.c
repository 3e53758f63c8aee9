/* SPDX-License-Identifier: MIT */
/*
 * Files that are replaced whole or not at all, and read whole. What the bytes mean is others'.
 */
#include "internal.h"
#include "tools.h"

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

static int fail(struct riptide_error *error, const char *path, const char *action, int code)
{
    error_set(error, "%s: %s%s", path, action, strerror(code));
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

int riptide_file_write(const char *path, const void *bytes, size_t n,
                       unsigned int mode, bool is_synced,
                       struct riptide_error *error)
{
    char temporary[PATH_MAX];
    CLEANUP(closep) int fd = -1;
    int r;

    if ((size_t)snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path) >= sizeof(temporary))
        return fail(error, path, "write: ", ENAMETOOLONG);
    if (!is_replaceable(path)) {
        error_set(error, "%s: exists and is no regular file, so it is not replaced", path);
        return -EINVAL;
    }
    fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return fail(error, path, "make a file beside it: ", errno);
    r = fchmod(fd, mode) < 0 ? errno : write_all(fd, bytes, n);
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

/* Up to `size` bytes; fewer where it has become shorter meanwhile. */
static ssize_t read_all(int fd, unsigned char *bytes, size_t size)
{
    size_t n = 0;

    while (n < size) {
        ssize_t got = read(fd, bytes + n, size - n);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            break;
        n += (size_t)got;
    }
    return (ssize_t)n;
}

int riptide_file_read(const char *path, size_t max_bytes, void **bytesp, size_t *np,
                      struct riptide_error *error)
{
    /* O_NONBLOCK: a FIFO in its place must not hold up the start. */
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    CLEANUP(freep) unsigned char *bytes = NULL;
    struct stat stat;
    ssize_t n;

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
    n = read_all(fd, bytes, (size_t)stat.st_size);
    if (n < 0)
        return fail(error, path, "", (int)-n);
    *np = (size_t)n;
    *bytesp = bytes;
    bytes = NULL;
    return 0;
}
