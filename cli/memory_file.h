/* SPDX-License-Identifier: MIT */
/*
 * Bytes that go from one process to another as an fd: a memory file, sealed, so that who takes it
 * never waits for a disk and reads what will not change.
 */
#ifndef CLI_MEMORY_FILE_H
#define CLI_MEMORY_FILE_H

#include <stddef.h>

/* Makes one; the fd is the caller's. Errors: -ENOMEM, those of memfd_create(2) and write(2). */
int memory_file_make(int *fdp, const void *bytes, size_t n);

/*
 * Reads one; the bytes are the caller's, from malloc. Errors: -EINVAL (no memory file, not sealed),
 * -EFBIG (beyond 64 MiB), -ENOMEM, those of read(2).
 */
int memory_file_take(int fd, void **bytesp, size_t *np);

#endif
