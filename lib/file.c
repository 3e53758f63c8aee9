/* SPDX-License-Identifier: MIT */
/* Files that are replaced whole or not at all, and read whole. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
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

/* The new name is on disk only when its directory is. Returns the number of an error. */
static int sync_directory(const char *path)
{
    CLEANUP(closep) int fd = -1;
    char copy[PATH_MAX];

    snprintf(copy, sizeof(copy), "%s", path);
    fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 && fsync(fd) == 0 ? 0 : errno;
}

/* Also closes the fd. Returns the number of an error. */
static int print_file(int fd, unsigned int mode, bool is_synced, file_print *print,
                      const void *from)
{
    FILE *out = fdopen(fd, "w");
    int r;

    if (!out) {
        r = errno;
        close(fd);
        return r;
    }
    r = fchmod(fd, mode) < 0 ? errno : -print(out, from);
    if (r == 0 && fflush(out) != 0)
        r = errno;
    /* An earlier one, from when the buffer was full. */
    if (r == 0 && ferror(out))
        r = EIO;
    if (r == 0 && is_synced && fsync(fd) < 0)
        r = errno;
    if (fclose(out) != 0 && r == 0)
        r = errno;
    return r;
}

int riptide_file_write(const char *path, unsigned int mode, bool is_synced, file_print *print,
                       const void *from, struct riptide_error *error)
{
    char temporary[PATH_MAX];
    struct stat there;
    int fd, r;

    if ((size_t)snprintf(temporary, sizeof(temporary), "%s.tmp", path) >= sizeof(temporary))
        return fail(error, path, "write: ", ENAMETOOLONG);
    /* A rename replaces anything: devices, FIFOs and links must stay. */
    if (lstat(path, &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode)) {
        error_set(error, "%s: exists and is no regular file, so it is not replaced", path);
        return -EINVAL;
    }
    unlink(temporary); /* of a process that was killed as it wrote */
    fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail(error, path, "cannot make a temporary file beside it: ", errno);
    r = print_file(fd, mode, is_synced, print, from);
    if (r == 0 && rename(temporary, path) < 0)
        r = errno;
    if (r != 0) {
        unlink(temporary);
        return fail(error, path, "write: ", r);
    }
    r = is_synced ? sync_directory(path) : 0;
    return r ? fail(error, path, "sync its directory: ", r) : 0;
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
