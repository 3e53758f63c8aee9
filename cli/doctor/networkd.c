/* SPDX-License-Identifier: MIT */
/*
 * Two keys of networkd.conf(5) and its drop-ins. Of files of one name that of the first directory
 * counts; the last name wins, and networkd.conf comes first. What is not understood is passed over,
 * as networkd does.
 */
#include "host.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where systemd looks, what it prefers first. */
static const char *const directories[] = { "/etc/systemd", "/run/systemd", "/usr/local/lib/systemd",
                                           "/usr/lib/systemd" };

enum { N_DIRECTORIES = sizeof(directories) / sizeof(directories[0]) };

static void take(struct networkd_setting *setting, const char *value, const char *path)
{
    char word[16];
    bool is_off;

    snprintf(word, sizeof(word), " %s ", value);
    is_off = strcasestr(" 0 no n false f off ", word);
    if (!is_off && !strcasestr(" 1 yes y true t on ", word))
        return;
    setting->is_off = is_off;
    snprintf(setting->path, sizeof(setting->path), "%s", path);
}

/* False where there is no such file. */
static bool read_file(struct networkd *networkd, const char *path, size_t root_len)
{
    char line[256], section[32] = "", key[40], value[12];
    FILE *file = fopen(path, "re");
    bool is_there = file != NULL;

    while (file && fgets(line, sizeof(line), file)) {
        if (sscanf(line, " [%31[^]]", section) == 1 || strcmp(section, "Network") != 0 ||
            sscanf(line, " %39[A-Za-z] = %11s", key, value) != 2)
            continue;
        if (!strcmp(key, "ManageForeignRoutes"))
            take(&networkd->routes, value, path + root_len);
        else if (!strcmp(key, "ManageForeignRoutingPolicyRules"))
            take(&networkd->rules, value, path + root_len);
    }
    if (file)
        fclose(file);
    return is_there;
}

static const char *name_of(const char *path)
{
    return strrchr(path, '/') + 1;
}

/* Of one name, in the order of directories; only the last two of them are in another than texts. */
static int compare_files(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    int order = strcmp(name_of(x), name_of(y));
    int lib = !!strstr(x, "/usr/lib/") - !!strstr(y, "/usr/lib/");

    return order ? order : lib ? lib : strcmp(x, y);
}

void networkd_read(struct networkd *networkd, const char *root)
{
    char path[PATH_MAX];
    glob_t files = { 0 };

    snprintf(path, sizeof(path), "%s/run/systemd/netif/state", root);
    networkd->is_in_use = access(path, F_OK) == 0;
    for (int i = 0; i < N_DIRECTORIES; i++) {
        snprintf(path, sizeof(path), "%s%s/networkd.conf", root, directories[i]);
        if (read_file(networkd, path, strlen(root)))
            break;
    }
    for (int i = 0; i < N_DIRECTORIES; i++) {
        snprintf(path, sizeof(path), "%s%s/networkd.conf.d/*.conf", root, directories[i]);
        glob(path, i > 0 ? GLOB_APPEND : 0, NULL, &files);
    }
    if (files.gl_pathc > 0) /* else there is no array */
        qsort(files.gl_pathv, files.gl_pathc, sizeof(*files.gl_pathv), compare_files);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        if (i == 0 || strcmp(name_of(files.gl_pathv[i - 1]), name_of(files.gl_pathv[i])) != 0)
            read_file(networkd, files.gl_pathv[i], strlen(root));
    }
    globfree(&files);
}
