/* SPDX-License-Identifier: MIT */
/* Reads the configuration file, and combines settings from it and the command line. */

#include "file.h"
#include "settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The default; the file need not exist. */
static const char default_path[] = "/etc/riptide/riptided.conf";

/* No configuration will ever be this large. */
enum { MAX_BYTES = 4 << 20 };

int settings_read_file(struct settings *settings, const char *path)
{
    const char *name = path ? path : default_path;
    struct riptide_error error;
    char *bytes = NULL;
    size_t n;
    int r = file_read(name, MAX_BYTES, &bytes, &n, &error);

    /* A missing file is an empty one, unless an option names it. */
    if ((r == -ENOENT || r == -ENOTDIR) && !path)
        return 0;
    if (r < 0) {
        settings->mistake = error;
        return r;
    }
    r = config_parse(settings, name, bytes, n);
    free(bytes);
    return r;
}

static void note_mistake(struct settings *settings, struct riptide_error error)
{
    settings_explain_refusal(settings, &error);
    if (!settings->mistake.text[0])
        options_say(&settings->mistake, "%s: %s", settings->file, error.text);
}

/* Making an applier or an estimator checks values and changes nothing. */
void settings_mend_numbers(struct settings *settings)
{
    const struct riptide_applier_config numbers = settings_numbers(settings);
    size_t n_most = OPTIONS_MAX_ROWS, n_valid = 0;
    struct riptide_error error = { .text = "" };
    struct riptide_applier *applier = NULL;
    struct riptide_estimator *estimator = NULL;

    if (riptide_applier_new(&applier, &numbers, &error) == -EINVAL) {
        note_mistake(settings, error);
        riptide_applier_config_init(&settings->applier, sizeof(settings->applier));
    }
    riptide_applier_free(applier);
    settings_link(settings);
    /* Each refusal is of one value. */
    while (n_most-- > 0 &&
           riptide_estimator_new(&estimator, &settings->estimator, &error) == -EINVAL) {
        note_mistake(settings, error);
        settings_drop_refused(settings, &error);
    }
    for (size_t i = 0; estimator && i < settings->n_overrides; i++) {
        if (riptide_estimator_set_hint(estimator, &settings->overrides[i], &error) != -EINVAL) {
            settings->overrides[n_valid++] = settings->overrides[i];
            continue;
        }
        error.index = (int64_t)i;
        note_mistake(settings, error);
    }
    settings->n_overrides = n_valid;
    riptide_estimator_free(estimator);
}

/* The defaults, and the paths of a service manager. */
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

    /* Once to find the file, and again over its values. */
    settings_init(settings);
    r = settings_parse(settings, argc, argv, error);
    if (r < 0 || settings->help || settings->version)
        return r;
    path = settings->config;
    is_forgiving = settings->flush && !settings->check;
    settings_deinit(settings);
    if (begin(settings) < 0) {
        snprintf(error->text, sizeof(error->text), "%s", strerror(ENOMEM));
        return -ENOMEM;
    }
    r = settings_read_file(settings, path);
    if (is_forgiving) {
        settings_mend_numbers(settings);
    } else if (r < 0) {
        *error = settings->mistake;
        return r;
    }
    return settings_parse(settings, argc, argv, error);
}
