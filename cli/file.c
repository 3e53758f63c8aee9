/* SPDX-License-Identifier: MIT */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(struct riptide_error *error, const char *path, int code)
{
    snprintf(error->text, sizeof(error->text), "%.160s: %s", path, strerror(code));
    return -code;
}

static int refuse(struct riptide_error *error, const char *path, const char *reason)
{
    snprintf(error->text, sizeof(error->text), "%.160s: %s", path, reason);
    return -EINVAL;
}

/* Without its length in advance: files of /proc have none. */
static int read_bytes(int fd, size_t max_bytes, char *text, size_t *np)
{
    ssize_t got = 1;

    *np = 0;
    while (got != 0 && *np <= max_bytes) {
        got = read(fd, text + *np, max_bytes + 1 - *np);
        if (got < 0 && errno != EINTR)
            return -errno;
        *np += got > 0 ? (size_t)got : 0;
    }
    return *np > max_bytes ? -EFBIG : 0;
}

int file_load(const char *path, size_t max_bytes, char **textp, size_t *np,
              struct riptide_error *error)
{
    /* O_NONBLOCK: a FIFO in its place must not block the start. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat stat;
    char *text;
    int r;

    if (fd < 0)
        return fail(error, path, errno);
    if (fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode)) {
        close(fd);
        return refuse(error, path,
                      S_ISDIR(stat.st_mode) ? "is a directory" : "is no regular file");
    }
    text = malloc(max_bytes + 2);
    if (!text) {
        close(fd);
        return fail(error, path, ENOMEM);
    }
    r = read_bytes(fd, max_bytes, text, np);
    close(fd);
    if (r < 0) {
        free(text);
        return r == -EFBIG ? refuse(error, path, "is larger than it may be")
                           : fail(error, path, -r);
    }
    text[*np] = '\0';
    *textp = text;
    return 0;
}

/* Also closes the fd. */
static int print_file(int fd, unsigned int mode, int (*print)(FILE *out, const void *from),
                      const void *from)
{
    FILE *out = fdopen(fd, "w");
    int r;

    if (!out) {
        r = -errno;
        close(fd);
        return r;
    }
    r = fchmod(fd, mode) < 0 ? -errno : print(out, from);
    if (r == 0 && (fflush(out) != 0 || ferror(out)))
        r = errno ? -errno : -EIO;
    if (fclose(out) != 0 && r == 0)
        r = -errno;
    return r;
}

int file_replace(const char *path, unsigned int mode, int (*print)(FILE *out, const void *from),
               const void *from, struct riptide_error *error)
{
    char temporary[PATH_MAX];
    struct stat there;
    int fd, r;

    if ((size_t)snprintf(temporary, sizeof(temporary), "%s.tmp", path) >= sizeof(temporary))
        return fail(error, path, ENAMETOOLONG);
    /* A rename replaces anything: devices, FIFOs and links must stay. */
    if (lstat(path, &there) == 0 && !S_ISREG(there.st_mode))
        return refuse(error, path, "exists and is no regular file, so it is not replaced");
    /* One that was left by a process that was killed, or a trap: made anew, never opened. */
    unlink(temporary);
    fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail(error, path, errno);
    r = print_file(fd, mode, print, from);
    if (r == 0 && rename(temporary, path) < 0)
        r = -errno;
    if (r < 0) {
        unlink(temporary);
        return fail(error, path, -r);
    }
    return 0;
}
