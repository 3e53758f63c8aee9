/* SPDX-License-Identifier: MIT */
/*
 * Figures of the agent's stages as answers, and requests as calls of the agent. Reads the clocks.
 */
#include "daemon.h"

#include "clock.h"
#include "explanation.h"
#include "lib/tools.h"
#include "log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

void answers_note(struct daemon *daemon, const struct riptide_agent_event *event)
{
    struct health *health = &daemon->health;
    uint64_t now_ns;

    if (event->kind == RIPTIDE_AGENT_FAILED) {
        health->failure = event->error;
        health->is_failure_new = true;
    }
    if (event->kind != RIPTIDE_AGENT_TICK)
        return;
    /* A round whose dump failed ends as well: only one without a failure says that all is well. */
    if (!health->is_failure_new)
        health->failure = 0;
    health->is_failure_new = false;
    now_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
    health->round_cpu_ns = now_ns - health->cpu_ns;
    health->cpu_ns = now_ns;
    health->tick = *event->tick;
    health->n_ticks++;
    if (event->tick->late_ns > health->late_max_ns)
        health->late_max_ns = event->tick->late_ns;
}

/* By what windows are given, and per connection how many. */
struct backend_state {
    enum riptide_backend backend;
    const char *reason;
    struct window_counts counts;
};

static struct backend_state backend_of(const struct daemon *daemon)
{
    struct backend_state state;

    state.backend = riptide_agent_get_backend(daemon->agent, &state.reason, &state.counts);
    return state;
}

static json_t *apply_of(const struct daemon *daemon)
{
    const struct backend_state state = backend_of(daemon);

    return json_pack("{s:s, s:s?, s:I, s:I, s:I, s:I, s:I}", "by", backend_text(state.backend),
                     "reason", state.reason, "given", (json_int_t)state.counts.given, "paced",
                     (json_int_t)state.counts.paced, "kept", (json_int_t)state.counts.kept,
                     "syn_lost", (json_int_t)state.counts.syn_lost, "refused",
                     (json_int_t)state.counts.refused);
}

/* Whether the rules of a family are in place, and why not. */
static json_t *rules_of(const struct daemon *daemon, uint8_t family)
{
    const struct riptide_router *router = riptide_agent_get_router(daemon->agent);
    const char *reason = riptide_router_get_reason(router, family);

    if (daemon->settings->router.dry_run)
        reason = "dry run: no rule is written";
    else if (backend_of(daemon).backend == RIPTIDE_CONNECTIONS)
        reason = "windows are given per connection";
    return json_pack("{s:b, s:s?}", "in_place", reason == NULL, "reason", reason);
}

/* One word, and why where it is not all that was asked for. */
static json_t *health_of(const struct daemon *daemon)
{
    const struct riptide_router *router = riptide_agent_get_router(daemon->agent);
    const char *reason4 = riptide_router_get_reason(router, AF_INET);
    const char *reason6 = riptide_router_get_reason(router, AF_INET6);
    const struct backend_state state = backend_of(daemon);
    const char *why_no_rules = reason4 ? reason4 : reason6;
    const char *health = "ok", *reason = NULL;
    char text[256];

    if (daemon->health.failure) {
        health = "failing";
        reason = strerror(-daemon->health.failure);
    } else if (daemon->is_paused) {
        health = "paused";
    } else if (state.backend == RIPTIDE_BOTH && !why_no_rules != !state.reason) {
        snprintf(text, sizeof(text), "windows are given %s alone: %s",
                 why_no_rules ? "per connection" : "by routes",
                 why_no_rules ? why_no_rules : state.reason);
        reason = text;
    } else if (why_no_rules) {
        health = "off";
        reason = why_no_rules;
    } else if (state.backend != RIPTIDE_ROUTES && state.reason) {
        health = "off";
        reason = state.reason;
    } else if (daemon->health.n_ticks == 0) {
        health = "starting";
    }
    return json_pack("{s:s, s:s?, s:o, s:{s:o, s:o}}", "health", health, "reason", reason, "apply",
                     apply_of(daemon), "rules", "ipv4", rules_of(daemon, AF_INET), "ipv6", rules_of(daemon, AF_INET6));
}

static double ms(uint64_t ns)
{
    return (double)ns / 1e6;
}

static double s(uint64_t ns)
{
    return (double)ns / 1e9;
}

static json_t *round_of(const struct health *health)
{
    const struct riptide_tick *tick = &health->tick;

    if (health->n_ticks == 0)
        return json_null();
    return json_pack("{s:I, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:f}", "number",
                     (json_int_t)health->n_ticks, "ago_s",
                     s(clock_read_ns(CLOCK_BOOTTIME) - tick->finished_ns), "took_ms",
                     ms(tick->finished_ns - tick->started_ns), "cpu_ms", ms(health->round_cpu_ns),
                     "late_ms", ms(tick->late_ns), "late_max_ms", ms(health->late_max_ns),
                     "connections", (json_int_t)tick->samples, "changes", (json_int_t)tick->changes,
                     "refused", (json_int_t)tick->overflow, "interval_s", s(tick->interval_ns));
}

static json_t *messages_of(void)
{
    const struct log_recent *line;
    json_t *messages = json_array();
    char time[32];
    struct tm tm;

    for (unsigned int i = 0; (line = log_get_recent(i)); i++) {
        json_t *text = json_string(line->text);

        strftime(time, sizeof(time), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&line->time, &tm));
        json_array_append_new(messages, json_pack("{s:s, s:s, s:o}", "time", time, "level",
                                                  log_level_name(line->level), "text",
                                                  text ? text : json_string("(no valid text)")));
    }
    return messages;
}

json_t *daemon_hints(struct daemon *daemon)
{
    const struct riptide_estimator *estimator = riptide_agent_get_estimator(daemon->agent);
    uint64_t now_ns = clock_read_ns(CLOCK_BOOTTIME);
    json_t *hints = json_array();
    struct riptide_hint hint;
    uint32_t cursor = 0;

    while (riptide_estimator_next_hint(estimator, &cursor, &hint) == 0)
        json_array_append_new(hints, explanation_hint(&hint, now_ns));
    return json_pack("{s:o}", "hints", hints);
}

static uint32_t count_hints(const struct riptide_estimator *estimator)
{
    struct riptide_hint hint;
    uint32_t n = 0;

    while (riptide_estimator_next_hint(estimator, &n, &hint) == 0)
        continue;
    return n;
}

json_t *daemon_status(struct daemon *daemon)
{
    const struct settings *settings = daemon->settings;
    const struct riptide_estimator *known = riptide_agent_get_estimator(daemon->agent);
    struct riptide_observer_stats observer;
    struct riptide_estimator_stats estimator;
    struct riptide_router_stats router;
    json_t *status = health_of(daemon);

    riptide_observer_get_stats(riptide_agent_get_observer(daemon->agent), &observer,
                               sizeof(observer));
    riptide_estimator_get_stats(known, &estimator, sizeof(estimator));
    riptide_router_get_stats(riptide_agent_get_router(daemon->agent), &router, sizeof(router));
    json_object_update_new(
        status,
        json_pack(
            "{s:I, s:s, s:i, s:f, s:b, s:b, s:f, s:f, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
            "s:o, s:{s:I, s:I, s:I, s:I, s:I, s:I, s:I}, s:o}",
            "hints", (json_int_t)count_hints(known), "version", riptide_version(), "pid",
            (int)getpid(), "uptime_s",
            s(clock_read_ns(CLOCK_BOOTTIME) - daemon->health.started_ns), "dry_run",
            settings->router.dry_run, "paused", daemon->is_paused, "interval_s",
            s(settings->agent.interval_ns), "ttl_s", s(settings->estimator.ttl_ns), "policy",
            settings->estimator.policy->name, "table", (json_int_t)settings->router.table,
            "connections", (json_int_t)daemon->health.tick.samples, "destinations",
            (json_int_t)estimator.destinations, "max_destinations",
            (json_int_t)settings->estimator.max_destinations, "routes", (json_int_t)router.routes,
            "left_alone", (json_int_t)router.left_alone, "max_routes",
            (json_int_t)settings->router.max_routes, "clients",
            (json_int_t)control_count_clients(daemon->control), "round", round_of(&daemon->health),
            "counters", "routes_written", (json_int_t)router.written, "routes_refused",
            (json_int_t)router.failed, "resyncs", (json_int_t)router.resyncs, "lifts",
            (json_int_t)router.lifts, "overruns", (json_int_t)router.overruns, "dumps",
            (json_int_t)observer.dumps, "dumps_failed", (json_int_t)observer.failures, "messages",
            messages_of()));
    return status;
}

bool daemon_next(struct daemon *daemon, uint32_t *cursor, struct request_row *row)
{
    if (riptide_agent_next(daemon->agent, cursor, &row->route) != 0)
        return false;
    row->estimate = (struct riptide_estimate){ .cwnd = 0 };
    riptide_estimator_find(riptide_agent_get_estimator(daemon->agent), &row->route.dst,
                           &row->estimate);
    return true;
}

json_t *daemon_explain(struct daemon *daemon, const struct riptide_prefix *peer)
{
    const struct settings *settings = daemon->settings;
    const struct riptide_estimator *estimator = riptide_agent_get_estimator(daemon->agent);
    const struct backend_state state = backend_of(daemon);
    json_t *window = json_null(), *seen = json_null(), *route = json_null();
    uint64_t now_ns = clock_read_ns(CLOCK_BOOTTIME);
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];
    struct riptide_explanation explanation;
    struct riptide_route found;
    struct riptide_prefix group;
    char dev[IF_NAMESIZE];

    riptide_estimator_group(estimator, peer, &group);
    riptide_prefix_format(&group, dst);
    if (riptide_estimator_explain(estimator, &group, &explanation, sizeof(explanation)) != 0) {
        /* Neither window nor connections. */
    } else if (explanation.cwnd > 0) {
        window = explanation_window(&explanation, now_ns);
    } else {
        seen = explanation_seen(&explanation);
        json_object_set_new(seen, "age_s", json_real(s(now_ns - explanation.updated_ns)));
    }
    if (riptide_agent_find(daemon->agent, &group, &found) == 0) {
        if (found.backend == RIPTIDE_CONNECTIONS && found.state == RIPTIDE_ROUTE_APPLIED &&
            state.reason)
            snprintf(found.reason, sizeof(found.reason), "%s", state.reason);
        route =
            explanation_route(&found, found.ifindex ? log_device_name(found.ifindex, dev) : NULL);
    }
    return json_pack("{s:s, s:b, s:s, s:b, s:o, s:o, s:o, s:o}", "destination", dst, "in_scope",
                     settings_have_peer(settings, peer), "policy",
                     settings->estimator.policy->name, "dry_run", settings->router.dry_run,
                     "window", window, "seen", seen, "route", route, "rules",
                     rules_of(daemon, peer->family));
}

/* Of windows within that prefix, but for sections that are for a part of it. */
static uint32_t cwnd_min_of(const struct riptide_estimator_config *config,
                            const struct riptide_prefix *dst)
{
    const struct riptide_hint *best = NULL;

    for (size_t i = 0; i < config->n_hints; i++) {
        const struct riptide_hint *override = &config->hints[i];

        if (riptide_prefix_contains(&override->dst, dst) &&
            (!best || override->dst.len > best->dst.len))
            best = override;
    }
    return best && best->cwnd_min > 0 ? best->cwnd_min : config->cwnd_min;
}

static uint32_t count_destinations(const struct riptide_estimator *estimator,
                                   const struct riptide_prefix *within)
{
    struct riptide_estimate estimate;
    uint32_t cursor = 0, n = 0;

    while (riptide_estimator_next(estimator, &cursor, &estimate) == 0)
        n += riptide_prefix_contains(within, &estimate.dst);
    return n;
}

/* A hint is for destinations: one for a part of a destination would hold nothing, ever. */
static int check_hinted(const struct daemon *daemon, const struct riptide_prefix *dst,
                        struct riptide_error *error)
{
    const struct riptide_estimator_config *config = &daemon->settings->estimator;
    char text[RIPTIDE_PREFIX_TEXT_BYTES], whole[RIPTIDE_PREFIX_TEXT_BYTES];
    struct riptide_prefix group;

    riptide_estimator_group(riptide_agent_get_estimator(daemon->agent), dst, &group);
    if (group.len >= dst->len)
        return 0;
    for (size_t i = 0; i < config->n_aggregates; i++) {
        if (riptide_prefix_contains(dst, &config->aggregates[i]))
            return 0;
    }
    riptide_prefix_format(dst, text);
    riptide_prefix_format(&group, whole);
    snprintf(error->text, sizeof(error->text), "%s: counts as a part of %s; give that", text,
             whole);
    return -EINVAL;
}

int daemon_hint(struct daemon *daemon, struct riptide_hint *hint, uint64_t for_ns,
                   struct request_hinted *hinted, struct riptide_error *error)
{
    char dst[RIPTIDE_PREFIX_TEXT_BYTES], scale[32] = "", max[32] = "";
    int r = check_hinted(daemon, &hint->dst, error);

    if (r < 0)
        return r;
    hinted->cwnd_min = cwnd_min_of(&daemon->settings->estimator, &hint->dst);
    hinted->destinations =
        count_destinations(riptide_agent_get_estimator(daemon->agent), &hint->dst);
    if (hint->scale > 0)
        snprintf(scale, sizeof(scale), "times %g", hint->scale);
    if (hint->cwnd_max > 0)
        snprintf(max, sizeof(max), "at most %" PRIu32, hint->cwnd_max);
    hint->until_ns = clock_read_ns(CLOCK_BOOTTIME) + for_ns;
    r = riptide_estimator_add_hint(riptide_agent_get_estimator(daemon->agent), hint, error);
    if (r == RIPTIDE_E_FULL)
        snprintf(error->text, sizeof(error->text), "there are %d hints already", RIPTIDE_MAX_HINTS);
    riptide_prefix_format(&hint->dst, dst);
    if (r == 0)
        log_line(LOG_LEVEL_INFO, "hint: %s for %.1f s: windows %s%s%s", dst, s(for_ns), scale,
                 *scale && *max ? ", " : "", max);
    return r;
}

/* A section of the file is a hint as well: a bound that only a reload may take away. */
int daemon_unhint(struct daemon *daemon, const struct riptide_prefix *dst,
                  struct riptide_error *error)
{
    struct riptide_estimator *estimator = riptide_agent_get_estimator(daemon->agent);
    bool has_section = false, has_end = false;
    char text[RIPTIDE_PREFIX_TEXT_BYTES];
    struct riptide_hint hint;
    uint32_t cursor = 0;

    while (riptide_estimator_next_hint(estimator, &cursor, &hint) == 0) {
        if (!riptide_prefix_equal(&hint.dst, dst))
            continue;
        has_section |= hint.until_ns == RIPTIDE_NEVER_NS;
        has_end |= hint.until_ns != RIPTIDE_NEVER_NS;
    }
    riptide_prefix_format(dst, text);
    if (has_end && riptide_estimator_remove_hint(estimator, dst) == 0) {
        log_line(LOG_LEVEL_INFO, "hint: %s: removed", text);
        return 0;
    }
    snprintf(error->text, sizeof(error->text), "%s: %s", text,
             has_section ? "its bounds are a section of the configuration: take that out of the "
                           "file, and reload"
                         : "there is no hint for it; `riptide hint` lists them");
    return RIPTIDE_E_UNKNOWN;
}

int daemon_pause(struct daemon *daemon, bool is_paused, struct riptide_error *error)
{
    int r = riptide_agent_set_paused(daemon->agent, is_paused);

    daemon->is_paused = is_paused;
    if (r < 0)
        snprintf(error->text, sizeof(error->text),
                 "a rule could not be lifted: %s; `riptide flush` removes all", strerror(-r));
    return r;
}

json_t *daemon_list(struct daemon *daemon)
{
    const struct riptide_router_config *router = &daemon->settings->router;

    return json_pack("{s:b, s:I, s:I}", "paused", daemon->is_paused, "step_segments",
                     (json_int_t)router->step_segments, "step_percent",
                     (json_int_t)router->step_percent);
}

json_t *daemon_save(struct daemon *daemon)
{
    size_t n = 0;
    char *text = riptide_state_text(riptide_agent_get_estimator(daemon->agent), &n);
    json_t *answer;

    if (!text)
        return NULL;
    answer = json_pack("{s:s%}", "state", text, n);
    free(text);
    return answer;
}

int daemon_load(struct daemon *daemon, const char *state, size_t n, bool is_replacing,
                   struct riptide_load_counts *counts, struct riptide_error *error)
{
    int r = riptide_estimator_load(riptide_agent_get_estimator(daemon->agent),
                                   clock_read_ns(CLOCK_BOOTTIME), clock_read_ns(CLOCK_REALTIME),
                                   state, n, is_replacing, counts, error);

    if (r != 0 && !error->text[0])
        snprintf(error->text, sizeof(error->text), "not loaded: %s",
                 r < 0 ? strerror(-r) : "time runs backwards");
    if (r == 0)
        log_line(LOG_LEVEL_INFO, "state %s: destinations taken over: %u",
                 is_replacing ? "loaded" : "merged", counts->loaded);
    return r;
}

json_t *daemon_metrics(struct daemon *daemon)
{
    json_t *answer;
    char *text;
    size_t size;

    if (metrics_file_text(&daemon->metrics, daemon->agent, &text, &size) < 0)
        return NULL;
    answer = json_pack("{s:s}", "metrics", text);
    free(text);
    return answer;
}
