/* SPDX-License-Identifier: MIT */
/*
 * Two keys of networkd.conf. What is not understood is passed over, as networkd does.
 */
#include "networkd.h"

#include <ini.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct adding {
    struct networkd *networkd;
    const char *path;
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

static int on_key(void *userdata, const char *section, const char *name, const char *value)
{
    const struct adding *adding = userdata;
    struct networkd_setting *setting = NULL;
    bool is_on;

    if (strcmp(section, "Network") != 0)
        return 1;
    if (!strcmp(name, "ManageForeignRoutes"))
        setting = &adding->networkd->routes;
    else if (!strcmp(name, "ManageForeignRoutingPolicyRules"))
        setting = &adding->networkd->rules;
    if (!setting || !parse_boolean(value, &is_on))
        return 1;
    setting->is_off = !is_on;
    snprintf(setting->path, sizeof(setting->path), "%s", adding->path);
    return 1;
}

void networkd_add(struct networkd *networkd, const char *text, const char *path)
{
    struct adding adding = { networkd, path };

    ini_parse_string(text, on_key, &adding);
}
