/* SPDX-License-Identifier: MIT */
#include "file.h"

#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(struct riptide_error *error, const char *path, int code)
{
    return refuse(error, -code, "%.160s: %s", path, strerror(code));
}

int file_load(const char *path, char **textp, struct riptide_error *error)
{
    /* O_NONBLOCK: a FIFO in its place must not block the start. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), r = 0;
    struct stat stat;
    char *text = NULL;

    if (fd < 0)
        return fail(error, path, errno);
    if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode))
        text = calloc(1, (size_t)stat.st_size + 1);
    else
        r = refuse(error, -EINVAL, "%.160s: is no regular file", path);
    if (r == 0 && (!text || read(fd, text, (size_t)stat.st_size) < 0))
        r = fail(error, path, errno);
    else if (r == 0 && memchr(text, '\0', (size_t)stat.st_size))
        r = refuse(error, -EINVAL, "%.160s: is no text", path);
    close(fd);
    if (r < 0)
        free(text);
    else
        *textp = text;
    return r;
}

int file_replace(const char *path, unsigned int mode, const char *text, struct riptide_error *error)
{
    char temporary[PATH_MAX];
    struct stat there;
    int fd, r = 0;

    if (!text)
        return fail(error, path, ENOMEM);
    if ((size_t)snprintf(temporary, sizeof(temporary), "%s.tmp", path) >= sizeof(temporary))
        return fail(error, path, ENAMETOOLONG);
    /* A rename replaces anything: devices, FIFOs and links must stay. */
    if (lstat(path, &there) == 0 && !S_ISREG(there.st_mode))
        return refuse(error, -EINVAL,
                      "%.160s: exists and is no regular file, so it is not replaced", path);
    /* One that was left by a process that was killed, or a trap: made anew, never opened. */
    unlink(temporary);
    fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail(error, path, errno);
    if (dprintf(fd, "%s", text) < 0 || fchmod(fd, mode) < 0)
        r = -errno;
    if (close(fd) < 0 && r == 0)
        r = -errno;
    if (r == 0 && rename(temporary, path) < 0)
        r = -errno;
    if (r == 0)
        return 0;
    unlink(temporary);
    return fail(error, path, -r);
}
