/* SPDX-License-Identifier: MIT */
/*
 * The library tells one mistake at a time. What it refuses goes back to the default, and it is
 * asked again: so all is told, and no range is written down twice.
 */
#include "check.h"

#include "listener.h"
#include "load.h"
#include "log.h"
#include "privileges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* As many rows as a line of the library may name. */
enum { MAX_NAMED = 8 };

/* Who is named must exist. Whether we may become that user is for the start to see. */
static int check_names(const struct settings *settings, struct riptide_error *error)
{
    struct privileges privileges;
    gid_t group;

    if (privileges_find(&privileges, settings->user, error) == -EINVAL)
        return -EINVAL;
    return strcmp(settings->control, "none")
               ? listener_find_group(settings->control_group, &group, error)
               : 0;
}

/* An agent that is made, and not started, has checked all and changed nothing. */
static int judge(struct settings *settings, struct riptide_error *error)
{
    struct riptide_agent *agent = NULL;
    /* With other mistakes in its file, nobody has entered the network namespace. */
    int r = settings->n_mistakes == 0 ? settings_find_interface(settings, error) : 0;

    if (r == 0)
        r = riptide_agent_new(&agent, &settings->agent, error);
    riptide_agent_free(agent);
    return r < 0 ? r : check_names(settings, error);
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

/*
 * Takes away what was refused, so that the next mistake is seen: the value that the line is about,
 * and where that was a default already, those that it names. Returns false where nothing is left.
 */
static bool set_aside(struct settings *settings, const struct riptide_error *error,
                      const struct option_row **named, size_t n)
{
    size_t override = settings_find_refused_override(settings, error->text);
    bool is_any = false;
    struct settings defaults;

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

int check_tell(struct settings *settings)
{
    struct riptide_error error = { "" };
    size_t n_told = settings->n_mistakes;
    bool goes_on = true;
    int r = 0;

    settings_link(settings);
    while (goes_on && (r = judge(settings, &error)) == -EINVAL) {
        const struct option_row *named[MAX_NAMED];
        size_t n = settings_find_named(error, named, MAX_NAMED);
        struct riptide_error line = error;

        settings_explain_refusal(settings, &line);
        if (!is_consequence(settings, named, n)) {
            log_answer("%s", line.text);
            n_told++;
        }
        goes_on = set_aside(settings, &error, named, n);
    }
    if (n_told > 0)
        return EXIT_USAGE;
    if (r < 0)
        log_answer("%s", log_error_text(&error, r));
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
