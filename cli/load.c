/* SPDX-License-Identifier: MIT */
/*
 * Reads the configuration file, and puts settings together from it and the command line.
 */

#include "settings.h"
#include "lib/tools.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The usual place: nothing needs to be there. */
static const char default_path[] = "/etc/riptide/riptided.conf";

/* No configuration will ever be this large. */
enum { MAX_BYTES = 4 << 20 };

int settings_read_file(struct settings *settings, const char *path)
{
    const char *name = path ? path : default_path;
    void *bytes = NULL;
    size_t n;
    int r = riptide_file_read(name, MAX_BYTES, &bytes, &n, &settings->mistakes[0]);

    /* A file that is not there is none, unless somebody named it. */
    if ((r == -ENOENT || r == -ENOTDIR) && !path)
        return 0;
    if (r < 0) {
        settings->n_mistakes = 1;
        return r;
    }
    r = config_parse(settings, name, bytes, n);
    free(bytes);
    return r;
}

void settings_keep_valid(struct settings *settings)
{
    struct riptide_error error = { .text = "" };
    struct riptide_agent *agent = NULL;
    bool goes_on = true;

    settings_link(settings);
    while (goes_on && riptide_agent_new(&agent, &settings->agent, &error) == -EINVAL) {
        settings_explain_refusal(settings, &error);
        goes_on = settings_reset_refused(settings, &error);
        if (settings->n_mistakes == 0)
            settings->mistakes[settings->n_mistakes++] = error;
    }
    riptide_agent_free(agent);
}

/* The defaults, and over them what a service manager has prepared. */
static int begin(struct settings *settings)
{
    const char *directories = getenv("STATE_DIRECTORY");

    settings_init(settings);
    if (!directories || !*directories)
        return 0;
    /* Of several, the first. */
    if (asprintf(&settings->state_of_unit, "%.*s/state", (int)strcspn(directories, ":"),
                 directories) < 0) {
        settings->state_of_unit = NULL;
        return -ENOMEM;
    }
    settings->state = settings->state_of_unit;
    return 0;
}

int settings_load(struct settings *settings, int argc, char **argv, struct riptide_error *error)
{
    const char *path;
    bool is_forgiving;
    int r;

    /* Once to learn which file, and again to go over it. */
    settings_init(settings);
    r = settings_parse(settings, argc, argv, error);
    if (r < 0 || settings->help || settings->version)
        return r;
    path = settings->config;
    is_forgiving = settings->flush && !settings->check && !settings->print_config;
    settings_deinit(settings);
    if (begin(settings) < 0) {
        snprintf(error->text, sizeof(error->text), "%s", strerror(ENOMEM));
        return -ENOMEM;
    }
    r = settings_read_file(settings, path);
    if (r < 0 && !is_forgiving) {
        *error = settings->mistakes[0];
        return r;
    }
    return settings_parse(settings, argc, argv, error);
}
