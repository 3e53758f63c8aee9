/* SPDX-License-Identifier: MIT */
/*
 * Reads the configuration file, and puts settings together from it and the command line.
 */
#include "load.h"

#include "config.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

/* The usual place: nothing needs to be there. */
static const char default_path[] = "/etc/riptide/riptided.conf";

/* As many rows as a line of the library may name. */
enum { MAX_NAMED = 8 };

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

/* Whether the line follows from a value that was refused, and is another one by now. */
static bool is_consequence(const struct settings *settings, const struct option_row **named,
                           size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (settings->is_mistaken[named[i] - settings_rows])
            return true;
    }
    return false;
}

bool settings_set_aside(struct settings *settings, const struct riptide_error *refusal,
                        struct riptide_error *line)
{
    size_t override = settings_find_refused_override(settings, refusal->text);
    const struct option_row *named[MAX_NAMED];
    size_t n = settings_find_named(*refusal, named, MAX_NAMED);
    bool is_any = false;
    struct settings defaults;

    *line = *refusal;
    settings_explain_refusal(settings, line);
    if (is_consequence(settings, named, n))
        line->text[0] = '\0';
    if (override < settings->n_overrides) {
        settings_drop_override(settings, override);
        return true;
    }
    settings_init(&defaults);
    for (size_t i = 0; i < n && !(is_any && i == 1); i++) {
        bool *is_mistaken = &settings->is_mistaken[named[i] - settings_rows];

        if (*is_mistaken)
            continue;
        settings_reset(settings, named[i], &defaults);
        *is_mistaken = is_any = true;
    }
    return is_any;
}

void settings_keep_valid(struct settings *settings)
{
    struct riptide_error error = { "" }, line;
    struct riptide_agent *agent = NULL;
    bool goes_on = true;

    settings_link(settings);
    while (goes_on && riptide_agent_new(&agent, &settings->agent, &error) == -EINVAL) {
        goes_on = settings_set_aside(settings, &error, &line);
        if (settings->n_mistakes == 0 && line.text[0])
            settings->mistakes[settings->n_mistakes++] = line;
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

int settings_find_interface(struct settings *settings, struct riptide_error *error)
{
    const char *name = settings->scope.interface;

    if (!name)
        return 0;
    settings->observer.scope.ifindex = if_nametoindex(name);
    if (settings->observer.scope.ifindex != 0)
        return 0;
    snprintf(error->text, sizeof(error->text), "interface %s: no such interface", name);
    return -EINVAL;
}
