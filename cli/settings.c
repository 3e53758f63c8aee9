/* SPDX-License-Identifier: MIT */
/*
 * riptided's options and keys. Each sets a field of the library's configuration, which has the
 * defaults and checks the values.
 */
#include "settings.h"

#include "prefixes.h"
#include "request.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define ROW(section, name, kind, field, help)                                                      \
    {                                                                                              \
        name, &value_##kind, offsetof(struct settings, field), help, section, false, #field        \
    }

const struct option_row settings_rows[] = {
    ROW("observe", "interval", duration, agent.interval_ns,
        "time between two dumps of the connections"),
    ROW("observe", "scope", prefixes, observer.scope.learn,
        "learn only from connections to these; default: all (may be repeated)"),
    ROW("observe", "exclude", prefixes, observer.scope.exclude,
        "do not learn from connections to these; a wider destination still gives them its window "
        "(may be repeated)"),
    ROW("observe", "local-port", ports, observer.scope.local_ports,
        "learn from connections of this local port (may be repeated)"),
    ROW("observe", "remote-port", ports, observer.scope.remote_ports,
        "learn from connections to this port (may be repeated)"),
    ROW("observe", "max-share", max_share, agent.max_share,
        "share of a core that dumps may take, or off"),
    ROW("compute", "policy", policy, estimator.policy, "how windows are computed: careful, paper or bdp"),
    ROW("compute", "cwnd-min", u32, estimator.cwnd_min, "smallest window, segments"),
    ROW("compute", "cwnd-max", u32, estimator.cwnd_max, "largest window, segments"),
    ROW("compute", "ttl", duration, estimator.ttl_ns,
        "how long a window is kept without connections"),
    ROW("compute", "history-weight", weight, estimator.history_weight,
        "weight of history in paper's moving average, 0 to below 1"),
    ROW("compute", "prefix-len4", u8, estimator.prefix_len4,
        "prefix length of an IPv4 destination"),
    ROW("compute", "prefix-len6", u8, estimator.prefix_len6,
        "prefix length of an IPv6 destination"),
    ROW("compute", "max-destinations", u32, estimator.max_destinations,
        "greatest number of destinations"),
    ROW("compute", "state", path, state,
        "file from which the state is loaded, and to which it is saved; none: no file"),
    ROW("apply", "apply", backend, applier.backend,
          "how to give windows; auto: by program and routes, or by what works of both"),
    ROW("apply", "cgroup", directory, applier.cgroup,
          "cgroup whose connections get windows; else /sys/fs/cgroup, the whole host"),
    ROW("apply", "pacing", auto, applier.pacing,
        "whether the program spreads first flights over a part of the round trip"),
    ROW("apply", "holdout-percent", percent, applier.holdout_percent,
        "percent of connections that keep the kernel's own window, for `riptide verdict`; needs "
        "the program"),
    ROW("apply", "table", u32, applier.table, "routing table for our routes"),
    ROW("apply", "control", socket, control, "socket for `riptide`; none: no socket"),
    ROW("apply", "control-group", group, control_group,
          "group whose members may make changes by the socket, as root may"),
    ROW("metrics", "metrics", path, metrics,
        "write Prometheus metrics to this file (textfile collector)"),
    ROW("log", "log-level", level, log_level, "error, warning, info, debug"),
    ROW(NULL, "config", path, config, "read this file and not /etc/riptide/riptided.conf"),
    ROW(NULL, "check", flag, check, "check file and options, and exit"),
    ROW(NULL, "dry-run", flag, applier.dry_run,
        "print the changes instead of making them; needs no privilege"),
    ROW(NULL, "once", flag, once, "one round, then exit and leave the routes in place"),
    ROW(NULL, "flush", flag, flush,
        "remove rules and routes of a riptided with these numbers, and exit"),
    ROW(NULL, "help", flag, help, "print this help; also -h"),
    ROW(NULL, "version", flag, version, "print the version"),
    { .name = NULL },
};

#define OVERRIDE(name, kind, field, help)                                                          \
    {                                                                                              \
        name, &value_##kind, offsetof(struct riptide_hint, field), help, PREFIX_SECTION, true,     \
            #field                                                                                 \
    }

const struct option_row override_rows[] = {
    OVERRIDE("cwnd-min", u32, cwnd_min, "its smallest window, segments"),
    OVERRIDE("cwnd-max", u32, cwnd_max, "its largest window, segments; may exceed the general one"),
    OVERRIDE("off", flag, off, "give it no window"),
    { .name = NULL },
};

const struct removed_key removed_keys[] = {
    { "aggregate", NULL, "prefix-len4 and prefix-len6 are for all destinations" },
    { "all-netns", NULL, "run riptided@NAME.service for each network namespace" },
    { "destroy-events", NULL,
      "closed connections are read where policy careful or holdout-percent needs them" },
    { "netns", NULL, "run riptided@NAME.service, or start riptided in that network namespace" },
    { "print-config", NULL, "the first line of the log has the values in force" },
    { "trial-percent", NULL, "the policy alone computes windows" },
    { "again-price", NULL, "a point of retransmissions counts as one percent of time" },
    { "pacing-percent", NULL, "pacing = off leaves first flights unpaced; auto paces them" },
    { "pacing-rtt-min", NULL, "paths of less than 5 ms are not paced" },
    { "receive-window", NULL, "it is always auto: cwnd-max segments" },
    { "rto-min-floor", NULL, "rto_min stays as the base route has it" },
    { "holdout-turn", NULL, "apply = program or both holds out single connections" },
    { "protocol", NULL, "routes and rules of riptided have protocol 230" },
    { "rule-priority", NULL, "rules of riptided are directly before `lookup main`" },
    { "user", NULL,
      "started as root it becomes the user riptide, if there is one; a unit has User=" },
    { "policy", PREFIX_SECTION,
      "`policy` of [compute] is for all; cwnd-min and cwnd-max bound it" },
    { "scale", PREFIX_SECTION, "cwnd-max lowers windows" },
    { "pacing-percent", PREFIX_SECTION, "`pacing` of [apply] is for all; cwnd-max lowers windows" },
    { "receive-window", PREFIX_SECTION, "it is always auto: cwnd-max segments" },
    { "step-back-percent", NULL,
      "windows are suspended for 2 percent or points; holdout-percent = 0 turns that off" },
    { "step-back-wait", NULL, "windows are tried again after 10 minutes, then 20, up to a day" },
    { "slices", NULL, "max-share bounds the cost of dumps" },
    { "interface", NULL, "scope, local-port and remote-port choose connections" },
    { "mark", NULL, "route queries need no mark" },
    { "socket-mark", NULL, "scope, local-port and remote-port choose connections" },
    { "smoothing", NULL, "history-weight is the weight of history in policy paper" },
    { "window", NULL, "history-weight is the weight of history in policy paper" },
    { "window-percentile", NULL, "history-weight is the weight of history in policy paper" },
    { "percentile", NULL, "policies are paper, bdp and careful" },
    { "drop-share", NULL, "policy careful follows losses of first flights" },
    { "capacity-fraction", NULL, "policy careful grows while first flights fit" },
    { "evidence", NULL, "highest values of policy bdp fade over 60 s" },
    { "paced", NULL, "pacing = auto spreads first flights" },
    { "closed-weight", NULL, "a closed connection counts as an open one" },
    { "step-segments", NULL, "a change of up to 2 segments is not written" },
    { "step-percent", NULL, "a change of up to 10 percent is not written" },
    { "metrics-interval", NULL, "the file is written each 15 s" },
    { "metrics-prefix", NULL, "`riptide show PREFIX --json` has windows within a prefix" },
    { .name = NULL },
};

const struct removed_key *removed_find(const char *name, size_t len, const char *section)
{
    bool is_of_prefix = section && !strcmp(section, PREFIX_SECTION);

    for (const struct removed_key *key = removed_keys; key->name; key++) {
        if (strlen(key->name) == len && !memcmp(key->name, name, len) &&
            is_of_prefix == (key->section && !strcmp(key->section, PREFIX_SECTION)))
            return key;
    }
    return NULL;
}

#define N_ROWS(rows) (sizeof(rows) / sizeof((rows)[0]))

_Static_assert(N_ROWS(settings_rows) <= OPTIONS_MAX_ROWS, "see options.h");

/* The length of the longest prefix around a host; -1: there is none. */
static int longest_around(const struct riptide_prefix *prefixes, size_t n,
                          const struct riptide_prefix *host)
{
    int longest = -1;

    for (size_t i = 0; i < n; i++) {
        if (prefix_holds(&prefixes[i], host) && prefixes[i].len > longest)
            longest = prefixes[i].len;
    }
    return longest;
}

bool settings_have_peer(const struct settings *settings, const struct riptide_prefix *peer)
{
    const struct riptide_scope *scope = &settings->observer.scope;
    struct riptide_prefix host = *peer;
    int exclude;

    host.len = prefix_host_len(host.family);
    exclude = longest_around(scope->exclude, scope->n_exclude, &host);
    if (scope->n_learn == 0)
        return exclude < 0;
    return longest_around(scope->learn, scope->n_learn, &host) > exclude;
}

struct riptide_prefix settings_group(const struct settings *settings,
                                     const struct riptide_prefix *peer)
{
    const struct riptide_estimator_config *config = &settings->estimator;
    struct riptide_prefix host = *peer;

    host.len = prefix_host_len(host.family);
    return prefix_cut(&host, peer->family == AF_INET ? config->prefix_len4 : config->prefix_len6);
}

/* For hosts; a program that embeds the library sets it itself. */
enum { HOLDOUT_PERCENT = 5 };

void settings_init(struct settings *settings)
{
    *settings = (struct settings){
        .log_level = LOG_LEVEL_INFO,
        .control = CONTROL_PATH,
    };
    riptide_agent_config_init(&settings->agent, sizeof(settings->agent));
    riptide_observer_config_init(&settings->observer, sizeof(settings->observer));
    riptide_estimator_config_init(&settings->estimator, sizeof(settings->estimator));
    riptide_applier_config_init(&settings->applier, sizeof(settings->applier));
    settings->applier.holdout_percent = HOLDOUT_PERCENT;
}

void settings_link(struct settings *settings)
{
    settings->agent.observer = &settings->observer;
    settings->agent.estimator = &settings->estimator;
    settings->agent.applier = &settings->applier;
    if (settings->state && strcmp(settings->state, "none"))
        settings->agent.state = settings->state;
    /* The default has no effect by routes alone, where another value is refused. */
    if (settings->applier.backend == RIPTIDE_ROUTES &&
        settings->applier.holdout_percent == HOLDOUT_PERCENT)
        settings->applier.holdout_percent = 0;
    settings->applier.max_windows = settings->estimator.max_destinations;
}

void settings_deinit(struct settings *settings)
{
    for (const struct option_row *row = settings_rows; row->name; row++)
        value_clear(row->kind, (char *)settings + row->offset);
    free(settings->overrides);
    free(settings->text);
    free(settings->state_of_unit);
}

/* The line about an unknown option begins with it. */
static void explain_removed(struct riptide_error *error)
{
    const char *name = strncmp(error->text, "--", 2) ? "" : error->text + 2;
    const struct removed_key *key = removed_find(name, strcspn(name, "=:"), NULL);

    if (key)
        options_say(error, "--%s: removed; %s", key->name, key->instead);
}

int settings_parse(struct settings *settings, int argc, char **argv, struct riptide_error *error)
{
    int n_operands = options_parse(settings_rows, settings, argc, argv, error);

    if (n_operands < 0) {
        explain_removed(error);
        return n_operands;
    }
    if (n_operands > 0) {
        snprintf(error->text, sizeof(error->text),
                 "%s: unexpected operand; only options are allowed (--help)", argv[0]);
        return -EINVAL;
    }
    settings_link(settings);
    return 0;
}

struct riptide_applier_config settings_numbers(const struct settings *settings)
{
    struct riptide_applier_config numbers;

    riptide_applier_config_init(&numbers, sizeof(numbers));
    numbers.table = settings->applier.table;
    return numbers;
}

int settings_add_override(struct settings *settings, const struct riptide_prefix *dst)
{
    struct riptide_hint *overrides;
    size_t n = settings->n_overrides;

    for (size_t i = 0; i < n; i++) {
        if (prefix_equals(&settings->overrides[i].dst, dst))
            return -EEXIST;
    }
    if (n >= RIPTIDE_MAX_HINTS)
        return -E2BIG;
    overrides = reallocarray(settings->overrides, n + 1, sizeof(*overrides));
    if (!overrides)
        return -ENOMEM;
    settings->overrides = overrides;
    overrides[n] = (struct riptide_hint){ .dst = *dst };
    settings->n_overrides++;
    return 0;
}
