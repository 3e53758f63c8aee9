/* SPDX-License-Identifier: MIT */
#include "settings.h"

#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The share of connections that are held out where nothing is given. Routes cannot hold out single
 * connections.
 */
enum { HOLDOUT_PERCENT = 5 };

/* What depends on several settings; those of the library point to each other from here on. */
static int settle(struct settings *settings, struct riptide_error *error)
{
    struct riptide_applier_config *applier = &settings->applier;

    /* A program would end with it. A dry run ends nothing. */
    if (settings->once && !applier->dry_run && applier->backend == RIPTIDE_AUTO)
        applier->backend = RIPTIDE_ROUTES;
    if (applier->holdout_percent == SETTINGS_NOT_GIVEN)
        applier->holdout_percent =
            riptide_backend_traits(applier->backend) & RIPTIDE_HOLDS_OUT ? HOLDOUT_PERCENT : 0;
    settings->agent.observer = &settings->observer;
    settings->agent.estimator = &settings->estimator;
    settings->agent.applier = applier;
    if (settings->state && strcmp(settings->state, "none"))
        settings->agent.state = settings->state;
    if (settings->flush && (settings->check || applier->dry_run))
        return refuse(error, -EINVAL,
                      "--flush removes rules and routes, --check and --dry-run nothing: not both");
    if (settings->once && !applier->dry_run &&
        riptide_backend_traits(applier->backend) & RIPTIDE_ENDS_WITH_PROCESS)
        return refuse(error, -EINVAL,
                      "--once leaves routes; windows by the program end with "
                      "riptided: --apply routes");
    return 0;
}

/* The text of a regular file, which the caller frees, also where it is refused. */
static int read_file(const char *path, char **textp, struct riptide_error *error)
{
    /* O_NONBLOCK: a FIFO in its place must not block the start. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is_text = false;
    struct stat stat;
    ssize_t n = 0;
    int r = 0;

    if (fd < 0)
        return refuse(error, -errno, "%.160s: %s", path, strerror(errno));
    if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode)) {
        *textp = calloc(1, (size_t)stat.st_size + 1);
        if (*textp)
            n = read(fd, *textp, (size_t)stat.st_size);
        if (!*textp || n < 0)
            r = -errno;
        else
            is_text = !memchr(*textp, '\0', (size_t)n);
    }
    close(fd);
    if (r < 0)
        return refuse(error, r, "%.160s: %s", path, strerror(-r));
    if (!is_text)
        return refuse(error, -EINVAL, "%.160s: is no regular file with text", path);
    return 0;
}

int load_settings(struct settings *settings, int argc, char **argv, struct riptide_error *error)
{
    const char *directories = getenv("STATE_DIRECTORY"), *path, *name;
    int r;

    /* Once to find the file, and again over its values. */
    settings_init(settings);
    r = settings_parse(settings, argc, argv, error);
    if (r < 0 || settings->help || settings->version)
        return r;
    if (settings->flush)
        return settle(settings, error);
    path = settings->config;
    name = path ? path : SETTINGS_PATH;
    settings_deinit(settings);
    settings_init(settings);
    if (directories && *directories) {
        /* Of several, the first. */
        snprintf(settings->state_of_unit, sizeof(settings->state_of_unit), "%.*s/state",
                 (int)strcspn(directories, ":"), directories);
        settings->state = settings->state_of_unit;
    }
    r = read_file(name, &settings->text, error);
    /* The default one need not exist. */
    if (r == 0)
        r = config_parse(settings, name, settings->text, error);
    else if (!path && (r == -ENOENT || r == -ENOTDIR))
        r = 0;
    if (r == 0)
        r = settings_parse(settings, argc, argv, error);
    return r < 0 ? r : settle(settings, error);
}
