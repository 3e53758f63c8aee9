/* SPDX-License-Identifier: MIT */
/*
 * SIGHUP: the configuration file is read again, and all of it is taken over or nothing.
 */
#include "daemon.h"

#include "log.h"
#include "settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* `fresh` is to be freed in any case. */
static int take_over(struct daemon *daemon, struct settings *fresh, FILE *changes,
                     struct riptide_error *error)
{
    struct settings *settings = daemon->settings;
    int r = settings_load(fresh, settings->argc, settings->argv, error);

    if (r == 0 && settings->file && !fresh->file) {
        snprintf(error->text, sizeof(error->text), "%s: %s", settings->file, strerror(ENOENT));
        r = -ENOENT;
    }
    if (r == 0)
        r = settings_serve(fresh, &settings->served);
    if (r == 0)
        r = changes ? settings_compare(settings, fresh, changes, error) : -ENOMEM;
    if (r < 0)
        return r;
    fresh->estimator.hash_seed = settings->estimator.hash_seed;
    fresh->router.hash_seed = settings->router.hash_seed;
    fresh->agent.holdout_seed = settings->agent.holdout_seed;
    r = riptide_agent_reconfigure(daemon->agent, &fresh->agent, error);
    if (r < 0)
        settings_explain_refusal(fresh, error);
    return r;
}

bool reload(struct daemon *daemon)
{
    struct riptide_error error = { .text = "" };
    struct settings fresh;
    char *changes = NULL;
    size_t size;
    FILE *out = open_memstream(&changes, &size);
    int r = take_over(daemon, &fresh, out, &error);

    if (out)
        fclose(out);
    if (r < 0) {
        log_line(LOG_LEVEL_ERROR, "SIGHUP: nothing is changed: %s", log_error_text(&error, r));
        settings_deinit(&fresh);
    } else {
        metrics_file_reconfigure(&daemon->metrics, &fresh);
        log_set_level(fresh.log_level);
        log_line(LOG_LEVEL_INFO, "SIGHUP: read %s again: %s%s",
                 fresh.file ? fresh.file : "the options, as there is no file,",
                 size > 0 ? changes : "nothing has changed",
                 size > 0 ? report_left_out(&fresh, daemon->agent) : "");
        settings_move(daemon->settings, &fresh);
    }
    free(changes);
    return r == 0;
}
