/* SPDX-License-Identifier: MIT */
/*
 * Reading configuration below another root, as it is on this host or in an image.
 */
#include "files.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool files_exists(const char *root, const char *path)
{
    char full[PATH_MAX];

    snprintf(full, sizeof(full), "%s%s", root, path);
    return access(full, F_OK) == 0;
}

static int is_entry(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

uint32_t files_count(const char *root, const char *path)
{
    struct dirent **entries;
    char full[PATH_MAX];
    int n;

    snprintf(full, sizeof(full), "%s%s", root, path);
    n = scandir(full, &entries, is_entry, NULL);
    if (n < 0)
        return 0;
    for (int i = 0; i < n; i++)
        free(entries[i]);
    free(entries);
    return (uint32_t)n;
}

void files_read_line(const char *path, char *line, size_t size)
{
    FILE *file = fopen(path, "re");

    line[0] = '\0';
    if (!file)
        return;
    if (!fgets(line, (int)size, file))
        line[0] = '\0';
    fclose(file);
    line[strcspn(line, "\n")] = '\0';
    for (char *at = line; (at = strchr(at, '\t'));)
        *at = ' ';
}
