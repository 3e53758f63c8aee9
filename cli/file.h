/* SPDX-License-Identifier: MIT */
/* Files that are read whole, and replaced whole or not at all. No link is followed to write one. */
#ifndef CLI_FILE_H
#define CLI_FILE_H

#include <riptide/riptide.h>

/*
 * The text of a regular file, which the caller frees. Errors, each with a line: -EINVAL (not a
 * regular file, or with a zero in it), those of open(2) and read(2).
 */
int file_load(const char *path, char **textp, struct riptide_error *error);

/*
 * Writes PATH.tmp and renames it; text NULL: no memory. Errors, each with a line: -EINVAL (a
 * directory, a link or a device has that path, and stays), those of open(2), write(2), rename(2).
 */
int file_replace(const char *path, unsigned int mode, const char *text,
                 struct riptide_error *error);

#endif
