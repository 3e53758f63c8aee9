/* SPDX-License-Identifier: MIT */
/*
 * The library tells one mistake at a time, and is asked again without it: so all is told, and no
 * range is written down twice.
 */
#include "check.h"

#include "listener.h"
#include "load.h"
#include "log.h"
#include "privileges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

int check_tell(struct settings *settings)
{
    struct riptide_error error = { "" }, line;
    size_t n_told = settings->n_mistakes;
    bool goes_on = true;
    int r = 0;

    settings_link(settings);
    while (goes_on && (r = judge(settings, &error)) == -EINVAL) {
        goes_on = settings_set_aside(settings, &error, &line);
        if (line.text[0]) {
            log_answer("%s", line.text);
            n_told++;
        }
    }
    if (n_told > 0)
        return EXIT_USAGE;
    if (r < 0)
        log_answer("%s", log_error_text(&error, r));
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
