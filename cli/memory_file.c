/* SPDX-License-Identifier: MIT */
/*
 * Sealed memory files. Only those can have seals, so they also tell a memory file from any other.
 */
#include "memory_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SEALS = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE, MAX_BYTES = 64 << 20 };

int memory_file_make(int *fdp, const void *bytes, size_t n)
{
    int fd = memfd_create("riptide", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ssize_t written;
    int r = 0;

    if (fd < 0)
        return -errno;
    written = write(fd, bytes, n);
    if (written < 0)
        r = -errno;
    else if ((size_t)written != n)
        r = -ENOMEM;
    else if (fcntl(fd, F_ADD_SEALS, SEALS) < 0 || lseek(fd, 0, SEEK_SET) < 0)
        r = -errno;
    if (r < 0) {
        close(fd);
        return r;
    }
    *fdp = fd;
    return 0;
}

int memory_file_take(int fd, void **bytesp, size_t *np)
{
    int seals = fcntl(fd, F_GET_SEALS);
    struct stat stat;
    ssize_t got;
    void *bytes;

    if (seals < 0 || (seals & SEALS) != SEALS)
        return -EINVAL;
    if (fstat(fd, &stat) < 0)
        return -errno;
    if (stat.st_size > MAX_BYTES)
        return -EFBIG;
    bytes = malloc((size_t)stat.st_size + 1);
    if (!bytes)
        return -ENOMEM;
    got = pread(fd, bytes, (size_t)stat.st_size, 0);
    if (got != stat.st_size) {
        free(bytes);
        return got < 0 ? -errno : -EIO;
    }
    *bytesp = bytes;
    *np = (size_t)got;
    return 0;
}
