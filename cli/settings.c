/*
 * riptided's options. Each goes straight into the library's configuration, which brings the
 * defaults and refuses what makes no sense.
 */
#include "settings.h"

#include "request.h"

#include <errno.h>

#define ROW(name, kind, field, help)                                                               \
    {                                                                                              \
        name, &value_##kind, offsetof(struct settings, field), help                                \
    }

const struct option_row settings_rows[] = {
    ROW("interval", duration, agent.interval_ns, "time between two looks at the connections"),
    ROW("ttl", duration, estimator.ttl_ns, "how long a window lives without connections"),
    ROW("policy", policy, estimator.policy, "how windows are computed"),
    ROW("history-weight", weight, estimator.history_weight,
        "weight of history in the moving average, 0 to below 1"),
    ROW("smoothing", smoothing, estimator.smoothing, "how history counts; else the policy's own"),
    ROW("drop-share", weight, estimator.drop_share,
        "a fall by more than this share forgets history; 1: never"),
    ROW("percentile", number, estimator.percentile, "of policy percentile, 0 to 100"),
    ROW("window", duration, estimator.window_ns, "how far smoothing window looks back"),
    ROW("window-percentile", number, estimator.window_percentile, "of smoothing window, 0 to 100"),
    ROW("capacity-fraction", weight, estimator.capacity_fraction,
        "part of a proven capacity that policy careful takes"),
    ROW("rto-min-floor", duration, estimator.rto_min_floor_ns,
        "rto_min is the largest delay, but at least this (bdp)"),
    ROW("evidence", duration, estimator.evidence_ns, "how long it counts, careful and bdp"),
    ROW("paced", flag, estimator.paced, "first flights leave paced (careful)"),
    ROW("destroy-events", flag, observer.destroy_events,
        "learn from connections that close between two looks"),
    ROW("max-share", weight, agent.max_share,
        "stretch the interval to keep to this share of a core"),
    ROW("closed-weight", weight, estimator.closed_weight, "of those, beside open ones, 0 to 1"),
    ROW("control", path, control, "socket for `riptide`; none: no socket"),
    ROW("control-group", group, control_group,
        "its members may change things by the socket, beside root"),
    ROW("state", path, state, "start from this file and keep what is known in it"),
    ROW("metrics", path, metrics, "keep OpenMetrics text in this file (textfile collector)"),
    ROW("metrics-interval", duration, metrics_interval_ns, "write it no more often than this"),
    ROW("metrics-prefix", prefixes, metrics_prefixes,
        "count what lies within PREFIX apart (many times)"),
    ROW("cwnd-min", u32, estimator.cwnd_min, "smallest window, segments"),
    ROW("cwnd-max", u32, estimator.cwnd_max, "largest window, segments"),
    ROW("prefix-len4", u8, estimator.prefix_len4, "bits that make an IPv4 destination"),
    ROW("prefix-len6", u8, estimator.prefix_len6, "bits that make an IPv6 destination"),
    ROW("aggregate", prefixes, aggregates, "all its hosts are one destination (many times)"),
    ROW("scope", prefixes, scope.learn, "learn only these; everything without it (many times)"),
    ROW("exclude", prefixes, scope.exclude, "do not learn these (many times)"),
    ROW("local-port", ports, scope.local_ports, "learn from connections of this port (many times)"),
    ROW("remote-port", ports, scope.remote_ports,
        "learn from connections to this port (many times)"),
    ROW("socket-mark", masked, scope.mark, "learn from sockets with this firewall mark"),
    ROW("interface", name, scope.interface, "learn from sockets bound to this interface"),
    ROW("slices", u32, observer.slices, "one of N parts of the connections each time, in turn"),
    ROW("step-segments", u32, router.step_segments,
        "leave a route whose window moved by no more than this,"),
    ROW("step-percent", u32, router.step_percent, "or by no more than this of itself"),
    ROW("max-destinations", u32, estimator.max_destinations, "how many are kept at most"),
    ROW("netns", path, netns, "work in this network namespace, a name or a file"),
    ROW("table", u32, router.table, "routing table for our routes"),
    ROW("protocol", u8, router.protocol, "marks our routes and rules"),
    ROW("rule-priority", u32, router.rule_priority, "0: directly before `lookup main`"),
    ROW("mark", mark, router.mark, "route queries with it skip our rule"),
    ROW("user", user, user, "become NAME where started as root; else riptide, if the host has it"),
    ROW("dry-run", flag, router.dry_run, "say what would be done; needs no privilege"),
    ROW("once", flag, once, "one round, then exit and leave the routes in place"),
    ROW("flush", flag, flush, "remove what a riptided with these numbers left, and exit"),
    ROW("log-level", level, log_level, "error, warning, info, debug"),
    ROW("help", flag, help, "print this"),
    ROW("version", flag, version, "print the version"),
    { .name = NULL },
};

void settings_init(struct settings *settings)
{
    *settings = (struct settings){
        .log_level = LOG_LEVEL_INFO,
        .control = CONTROL_PATH,
        .metrics_interval_ns = UINT64_C(15000000000),
    };
    riptide_agent_config_init(&settings->agent, sizeof(settings->agent));
    riptide_observer_config_init(&settings->observer, sizeof(settings->observer));
    riptide_estimator_config_init(&settings->estimator, sizeof(settings->estimator));
    riptide_router_config_init(&settings->router, sizeof(settings->router));
    settings->agent.observer = &settings->observer;
    settings->agent.estimator = &settings->estimator;
    settings->agent.router = &settings->router;
    /* Nobody here looks at the name, and the kernel writes it for every socket. */
    settings->observer.congestion_control = false;
}

void settings_deinit(struct settings *settings)
{
    scope_options_deinit(&settings->scope);
    prefix_list_deinit(&settings->aggregates);
    prefix_list_deinit(&settings->metrics_prefixes);
}

int settings_parse(struct settings *settings, int argc, char **argv, struct riptide_error *error)
{
    int n_operands = options_parse(settings_rows, settings, argc, argv, error);

    if (n_operands < 0)
        return n_operands;
    if (n_operands > 0) {
        snprintf(error->text, sizeof(error->text), "%s: only options are taken (--help)", argv[0]);
        return -EINVAL;
    }
    settings->router.max_routes = settings->estimator.max_destinations;
    settings->observer.scope = scope_options_get(&settings->scope);
    settings->estimator.aggregates = settings->aggregates.items;
    settings->estimator.n_aggregates = settings->aggregates.n;
    return 0;
}
