/* SPDX-License-Identifier: MIT */
/*
 * Runs inputs through a target without a fuzzer, so that any compiler builds it and a corpus is a
 * test:
 *
 *     replay FILE|DIRECTORY...
 *
 * Each input is in memory of its own size, so that valgrind detects a read after its end.
 */
#include "target.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void die(const char *path)
{
    perror(path);
    exit(1);
}

static int replay_file(const char *path, size_t n)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(n ? n : 1);

    if (!file || !data || fread(data, 1, n, file) != n)
        die(path);
    fclose(file);
    LLVMFuzzerTestOneInput(data, n);
    free(data);
    return 1;
}

static int replay(const char *path);

static int replay_directory(const char *path)
{
    const struct dirent *entry;
    DIR *directory = opendir(path);
    char name[4096];
    int n = 0;

    if (!directory)
        die(path);
    while ((entry = readdir(directory))) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        n += replay(name);
    }
    closedir(directory);
    return n;
}

/* Returns how many inputs there were. */
static int replay(const char *path)
{
    struct stat status;

    if (stat(path, &status) != 0)
        die(path);
    return S_ISDIR(status.st_mode) ? replay_directory(path)
                                   : replay_file(path, (size_t)status.st_size);
}

int main(int argc, char **argv)
{
    int n = 0;

    for (int i = 1; i < argc; i++)
        n += replay(argv[i]);
    printf("%d inputs\n", n);
    return n > 0 ? 0 : 1;
}
