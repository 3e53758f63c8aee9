/*
 * What riptided can be told: the knobs of the library's three stages, and the daemon's own. Pure.
 */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include "options.h"
#include "scope.h"

#include <riptide/agent.h>

struct settings {
    struct riptide_agent_config agent; /* points to the three below */
    struct riptide_observer_config observer;
    struct riptide_estimator_config estimator;
    struct riptide_router_config router;
    struct scope_options scope;
    struct prefix_list aggregates;
    const char *state;         /* file; NULL: none */
    const char *control;       /* path of the socket, or "none" */
    const char *control_group; /* name or number; NULL: root alone */
    const char *netns;         /* name or path; NULL: where it was started */
    const char *user;          /* to become; NULL: see privileges.h */
    const char *metrics;       /* file; NULL: none */
    uint64_t metrics_interval_ns;
    struct prefix_list metrics_prefixes;
    enum log_level log_level;
    bool once;
    bool flush;
    bool help;
    bool version;
};

/* The table of options, into struct settings. */
extern const struct option_row settings_rows[];

/* The library's defaults. The struct must not move afterwards. */
void settings_init(struct settings *settings);

void settings_deinit(struct settings *settings);

/* Errors: -EINVAL, -ENOMEM, each with a line. */
int settings_parse(struct settings *settings, int argc, char **argv, struct riptide_error *error);

#endif
