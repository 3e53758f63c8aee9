/* SPDX-License-Identifier: MIT */
/*
 * riptided's options and keys. Each sets a field of the library's configuration, which has the
 * defaults and checks the values; a test holds the defaults named here against them.
 */
#include "settings.h"

#include "socket.h"
#include "text.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define ROW(target, name, kind, member, help, field)                                               \
    { name, &value_##kind, offsetof(struct target, member), help, field }
#define KEY(name, kind, field, help)      ROW(settings, name, kind, field, help, #field)
#define OF_AGENT(name, kind, field, help) ROW(settings, name, kind, agent.field, help, #field)
#define OPTION(name, kind, field, help)   ROW(settings, name, kind, field, help, NULL)
#define OVERRIDE(name, kind, field)       ROW(riptide_hint, name, kind, field, NULL, "hint." #field)

const struct option_row settings_rows[] = {
    OF_AGENT("interval", duration, interval_ns, "time between two dumps (default 1s)"),
    KEY("scope", prefixes, observer.scope.learn, "learn only from connections to these"),
    KEY("exclude", prefixes, observer.scope.exclude, "do not learn from connections to these"),
    KEY("local-port", ports, observer.scope.local_ports, "learn only from these local ports"),
    KEY("remote-port", ports, observer.scope.remote_ports, "learn only from these peers' ports"),
    OF_AGENT("max-share", share, max_share,
             "share of a core that dumps may take; 0: any (default 0.05)"),
    KEY("policy", policy, estimator.policy, "careful, paper or bdp (default careful)"),
    KEY("cwnd-min", u32, estimator.cwnd_min, "smallest window, segments (default 10)"),
    KEY("cwnd-max", u32, estimator.cwnd_max, "largest window, segments (default 100)"),
    KEY("ttl", duration, estimator.ttl_ns, "of a window without connections (default 90s)"),
    KEY("min-rtt", duration, estimator.min_rtt_ns,
        "shortest path that gets a window; 0s: any (default 0s)"),
    KEY("prefix-len4", u8, estimator.prefix_len4, "of IPv4 destinations (default 32)"),
    KEY("prefix-len6", u8, estimator.prefix_len6, "of IPv6 destinations (default 128)"),
    KEY("max-destinations", u32, estimator.max_destinations, "at most so many (default 16384)"),
    KEY("state", path, state, "file that keeps windows over a restart; none: no file"),
    KEY("apply", backend, applier.backend, "auto, routes, program or both (default auto)"),
    KEY("cgroup", path, applier.cgroup, "of the program; else /sys/fs/cgroup, the whole host"),
    KEY("pacing", switch, applier.pacing, "spread first flights by the program (default yes)"),
    KEY("holdout-percent", u32, applier.holdout_percent,
        "connections that keep the kernel's window, for `riptide verdict` (default 5)"),
    KEY("table", u32, applier.table, "routing table for our routes (default 7230)"),
    KEY("control", path, control,
        "socket for `riptide`; none: no socket (default /run/riptide/control)"),
    KEY("control-group", group, control_group, "its members may make changes, as root may"),
    KEY("metrics", path, metrics, "file for Prometheus (textfile collector)"),
    KEY("log-level", level, log_level, "error, warning, info, debug (default info)"),
    OPTION("config", path, config, "read this file and not " SETTINGS_PATH),
    OPTION("check", flag, check, "check file and options, and exit"),
    OPTION("dry-run", flag, applier.dry_run, "print changes, make none; needs no privilege"),
    OPTION("once", flag, once, "one round, then exit and leave the routes in place"),
    OPTION("flush", flag, flush, "remove rules and routes of a riptided, and exit"),
    OPTION("help", flag, help, "print this help; also -h"),
    OPTION("version", flag, version, "print the version"),
    { .name = NULL },
};

const struct option_row override_rows[] = {
    OVERRIDE("cwnd-min", u32, cwnd_min),
    OVERRIDE("cwnd-max", u32, cwnd_max),
    OVERRIDE("off", flag, off),
    { .name = NULL },
};

void settings_init(struct settings *settings)
{
    *settings = (struct settings){
        .log_level = LOG_INFO,
        .control = CONTROL_PATH,
    };
    riptide_agent_config_init(&settings->agent, sizeof(settings->agent));
    riptide_observer_config_init(&settings->observer, sizeof(settings->observer));
    riptide_estimator_config_init(&settings->estimator, sizeof(settings->estimator));
    riptide_applier_config_init(&settings->applier, sizeof(settings->applier));
    settings->applier.holdout_percent = SETTINGS_NOT_GIVEN;
}

void settings_deinit(struct settings *settings)
{
    for (const struct option_row *row = settings_rows; row->name; row++) {
        if (row->kind->is_list)
            free(*(void **)((char *)settings + row->offset));
    }
    free(settings->text);
}

int settings_parse(struct settings *settings, int argc, char **argv, struct riptide_error *error)
{
    int r = options_parse(settings_rows, settings, &settings->given, argc, argv, error);

    if (r == 0 && optind < argc)
        return refuse(error, -EINVAL, "%s: unexpected operand; only options are allowed (--help)",
                      argv[optind]);
    return r;
}

void settings_explain_refusal(const struct settings *settings, struct riptide_error *error)
{
    const struct riptide_error given = *error;
    const char *field = given.field ? given.field : "";
    const size_t len = strcspn(field, "[");
    const bool is_of_hint = strncmp(field, "hint.", strlen("hint.")) == 0;
    const struct option_row *row = is_of_hint ? override_rows : settings_rows;
    char dst[RIPTIDE_PREFIX_TEXT_BYTES], section[RIPTIDE_PREFIX_TEXT_BYTES + 16] = "";
    bool is_of_file;

    while (row->field && (strncmp(row->field, field, len) != 0 || row->field[len]))
        row++;
    if (!row->field)
        return;
    if (is_of_hint) {
        riptide_prefix_format(&settings->overrides[given.index].dst, dst);
        snprintf(section, sizeof(section), "[prefix %s] ", dst);
    }
    is_of_file = is_of_hint || (settings->of_file & ~settings->given) >> (row - settings_rows) & 1;
    refuse(error, -EINVAL, "%.100s%s%s%s%s", is_of_file ? settings->file : "",
           is_of_file ? ": " : "", section, row->name, given.text + strcspn(given.text, ":"));
}
