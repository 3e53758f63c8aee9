/* SPDX-License-Identifier: MIT */
/*
 * Two keys of networkd.conf and its drop-ins. Of files of one name that of the first directory
 * counts; of drop-ins the one with the last name, and before networkd.conf. What is not understood
 * is passed over, as networkd does.
 */
#include "networkd.h"

#include <glob.h>
#include <ini.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* Where systemd looks, what it prefers first. */
static const char *const directories[] = { "/etc/systemd", "/run/systemd", "/usr/local/lib/systemd",
                                           "/usr/lib/systemd" };

enum { N_DIRECTORIES = sizeof(directories) / sizeof(directories[0]) };

struct reading {
    struct networkd *networkd;
    const char *path;
    size_t root_len;
    bool is_drop_in;
};

/* Booleans as systemd reads them; false where it is none. */
static bool parse_boolean(const char *text, bool *value)
{
    static const char *const yes[] = { "1", "yes", "y", "true", "t", "on" };
    static const char *const no[] = { "0", "no", "n", "false", "f", "off" };

    for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
        if (!strcasecmp(text, yes[i]) || !strcasecmp(text, no[i])) {
            *value = !strcasecmp(text, yes[i]);
            return true;
        }
    }
    return false;
}

/* What stands behind the last slash. */
static const char *name_of(const char *path)
{
    return strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
}

static int on_key(void *userdata, const char *section, const char *name, const char *value)
{
    const struct reading *reading = userdata;
    struct networkd_setting *setting = NULL;
    bool is_on;

    if (strcmp(section, "Network") != 0)
        return 1;
    if (!strcmp(name, "ManageForeignRoutes"))
        setting = &reading->networkd->routes;
    else if (!strcmp(name, "ManageForeignRoutingPolicyRules"))
        setting = &reading->networkd->rules;
    if (!setting || !parse_boolean(value, &is_on))
        return 1;
    if (setting->is_of_drop_in && strcmp(name_of(setting->path), name_of(reading->path)) > 0)
        return 1;
    setting->is_off = !is_on;
    setting->is_of_drop_in = reading->is_drop_in;
    snprintf(setting->path, sizeof(setting->path), "%s", reading->path + reading->root_len);
    return 1;
}

static bool is_hidden(const glob_t *files, size_t i)
{
    for (size_t before = 0; before < i; before++) {
        if (!strcmp(name_of(files->gl_pathv[before]), name_of(files->gl_pathv[i])))
            return true;
    }
    return false;
}

static void read_drop_ins(const char *root, struct reading *reading)
{
    char pattern[PATH_MAX];
    glob_t files = { 0 };

    for (int i = 0; i < N_DIRECTORIES; i++) {
        snprintf(pattern, sizeof(pattern), "%s%s/networkd.conf.d/*.conf", root, directories[i]);
        glob(pattern, i > 0 ? GLOB_APPEND : 0, NULL, &files);
    }
    reading->is_drop_in = true;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        reading->path = files.gl_pathv[i];
        if (!is_hidden(&files, i))
            ini_parse(reading->path, on_key, reading);
    }
    globfree(&files);
}

void networkd_read(struct networkd *networkd, const char *root)
{
    struct reading reading = { .networkd = networkd, .root_len = strlen(root) };
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/run/systemd/netif/state", root);
    networkd->is_in_use = access(path, F_OK) == 0;
    reading.path = path;
    for (int i = 0; i < N_DIRECTORIES; i++) {
        snprintf(path, sizeof(path), "%s%s/networkd.conf", root, directories[i]);
        if (ini_parse(path, on_key, &reading) >= 0)
            break;
    }
    read_drop_ins(root, &reading);
}
