/* SPDX-License-Identifier: MIT */
/*
 * Asks those who would refuse: no range is written down twice.
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
    int r = riptide_agent_new(&agent, &settings->agent, error);

    riptide_agent_free(agent);
    return r < 0 ? r : check_names(settings, error);
}

int check_tell(struct settings *settings)
{
    struct riptide_error error = { .text = "" };
    int r;

    settings_link(settings);
    r = judge(settings, &error);
    if (r == 0)
        return EXIT_SUCCESS;
    settings_explain_refusal(settings, &error);
    log_answer("%s", log_error_text(&error, r));
    return r == -EINVAL ? EXIT_USAGE : EXIT_FAILURE;
}
