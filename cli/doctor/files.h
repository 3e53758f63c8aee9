/* SPDX-License-Identifier: MIT */
/*
 * Files that doctor reads: small ones, whole.
 */
#ifndef CLI_DOCTOR_FILES_H
#define CLI_DOCTOR_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether there is a file of that name below `root`. */
bool files_exists(const char *root, const char *path);

/* How many entries a directory has; 0 where there is none. */
uint32_t files_count(const char *root, const char *path);

/* The first line without its end; empty where it cannot be read. Tabs become blanks. */
void files_read_line(const char *path, char *line, size_t size);

#endif
