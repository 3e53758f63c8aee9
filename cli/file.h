/* SPDX-License-Identifier: MIT */
/* Files that are read whole, and replaced whole or not at all. No link is followed to write one. */
#ifndef CLI_FILE_H
#define CLI_FILE_H

#include <riptide/riptide.h>
#include <stdio.h>

/*
 * The bytes of a regular file and a terminating zero, which the caller frees; NULL: see errors, each
 * with a line: -EINVAL (not a regular file, or larger than that), -ENOMEM, those of open(2) and
 * read(2).
 */
int file_load(const char *path, size_t max_bytes, char **textp, size_t *np,
              struct riptide_error *error);

/*
 * Writes PATH.tmp and renames it. `print` returns 0 or -errno. Errors, each with a line: -EINVAL (what
 * is there is no regular file: it stays), that of `print`, those of open(2), write(2) and rename(2).
 */
int file_replace(const char *path, unsigned int mode, int (*print)(FILE *out, const void *from),
               const void *from, struct riptide_error *error);

#endif
