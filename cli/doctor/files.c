/* SPDX-License-Identifier: MIT */
/*
 * Reading configuration below another root, as it is on this host or in an image.
 */
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where systemd looks, what it prefers first. */
static const char *const directories[] = { "/etc/systemd", "/run/systemd", "/usr/local/lib/systemd",
                                           "/usr/lib/systemd" };

enum { N_DIRECTORIES = sizeof(directories) / sizeof(directories[0]), MAX_DROP_INS = 64 };

struct drop_in {
    char name[NAME_MAX + 1];
    const char *directory;
};

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

/* Whole, or its first part where it is larger than any configuration is; NULL where it cannot be
 * read.
 */
static char *read_text(const char *root, const char *path)
{
    enum { MAX_BYTES = 1 << 16 };
    char full[PATH_MAX];
    char *text = NULL;
    FILE *file;
    size_t n;

    snprintf(full, sizeof(full), "%s%s", root, path);
    file = fopen(full, "re");
    if (!file)
        return NULL;
    text = malloc(MAX_BYTES + 1);
    if (text) {
        n = fread(text, 1, MAX_BYTES, file);
        text[n] = '\0';
    }
    fclose(file);
    return text;
}

static bool add_file(const char *root, const char *path, struct networkd *networkd)
{
    char *text = read_text(root, path);

    if (!text)
        return false;
    networkd_add(networkd, text, path);
    free(text);
    return true;
}

static bool is_known(const struct drop_in *drop_ins, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(drop_ins[i].name, name))
            return true;
    }
    return false;
}

/* One that a directory before has hides all others of its name. */
static size_t find_drop_ins(const char *root, struct drop_in *drop_ins)
{
    char full[PATH_MAX];
    size_t n = 0;

    for (int i = 0; i < N_DIRECTORIES; i++) {
        const struct dirent *entry;
        DIR *dir;

        snprintf(full, sizeof(full), "%s%s/networkd.conf.d", root, directories[i]);
        dir = opendir(full);
        if (!dir)
            continue;
        while (n < MAX_DROP_INS && (entry = readdir(dir))) {
            const char *end = strrchr(entry->d_name, '.');

            if (!end || strcmp(end, ".conf") != 0 || is_known(drop_ins, n, entry->d_name))
                continue;
            snprintf(drop_ins[n].name, sizeof(drop_ins[n].name), "%s", entry->d_name);
            drop_ins[n++].directory = directories[i];
        }
        closedir(dir);
    }
    return n;
}

static int compare_drop_ins(const void *a, const void *b)
{
    return strcmp(((const struct drop_in *)a)->name, ((const struct drop_in *)b)->name);
}

void files_read_networkd(const char *root, struct networkd *networkd)
{
    struct drop_in *drop_ins = calloc(MAX_DROP_INS, sizeof(*drop_ins));
    char path[PATH_MAX];
    size_t n;

    networkd->is_in_use = files_exists(root, "/run/systemd/netif/state");
    for (int i = 0; i < N_DIRECTORIES; i++) {
        snprintf(path, sizeof(path), "%s/networkd.conf", directories[i]);
        if (add_file(root, path, networkd))
            break;
    }
    if (!drop_ins)
        return;
    n = find_drop_ins(root, drop_ins);
    qsort(drop_ins, n, sizeof(*drop_ins), compare_drop_ins);
    for (size_t i = 0; i < n; i++) {
        snprintf(path, sizeof(path), "%s/networkd.conf.d/%s", drop_ins[i].directory,
                 drop_ins[i].name);
        add_file(root, path, networkd);
    }
    free(drop_ins);
}
