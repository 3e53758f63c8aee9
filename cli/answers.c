/* SPDX-License-Identifier: MIT */
/* Answers to requests that change nothing. Reads the clocks. */
#include "daemon.h"

#include "clock.h"
#include "effect.h"
#include "explanation.h"
#include "kernel.h"
#include "lib/internal.h"
#include "lib/tools.h"
#include "log.h"
#include "members.h"

#include <inttypes.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static void note_minute(struct minute *minute, const struct riptide_program_counts *counts,
                        uint64_t now_ns)
{
    const unsigned int last = (minute->n + MINUTE_PARTS - 1) % MINUTE_PARTS;
    const unsigned int next = minute->n % MINUTE_PARTS;

    if (minute->n > 0 && now_ns - minute->noted_ns[last] < 10 * NS_PER_S)
        return;
    minute->then[next] = *counts;
    minute->noted_ns[next] = now_ns;
    minute->n++;
}

/* A round begins an interval after the one before, unless that lasts: it is left out then. */
static void note_lateness(struct health *health, const struct riptide_tick *tick)
{
    const struct riptide_tick *before = &health->tick;
    uint64_t n, due_ns;

    if (health->n_ticks == 0)
        return;
    n = 1 + (before->finished_ns - before->started_ns) / before->interval_ns;
    due_ns = before->started_ns + n * before->interval_ns;
    health->late_ns = tick->started_ns > due_ns ? tick->started_ns - due_ns : 0;
    if (health->late_ns > health->late_max_ns)
        health->late_max_ns = health->late_ns;
}

void answers_note(struct daemon *daemon, const struct riptide_agent_event *event)
{
    struct health *health = &daemon->health;
    uint64_t now_ns;

    if (event->kind == RIPTIDE_AGENT_FAILED) {
        snprintf(health->failure, sizeof(health->failure), "%s", event->reason);
        health->is_failure_new = true;
    }
    if (event->kind != RIPTIDE_AGENT_TICK)
        return;
    /* A round whose dump failed ends as well: only one without a failure clears it. */
    if (!health->is_failure_new)
        health->failure[0] = '\0';
    health->is_failure_new = false;
    now_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
    health->round_cpu_ns = now_ns - health->cpu_ns;
    health->cpu_ns = now_ns;
    note_lateness(health, event->tick);
    health->tick = *event->tick;
    health->n_ticks++;
    note_minute(&health->minute, &riptide_agent_get_stats(daemon->agent)->applier->program,
                event->tick->finished_ns);
}

/* Peers' segments, in which the program asks for their first flights. */
enum { PEER_MSS_BYTES = 1460 };

static json_t *effect_of(const struct daemon *daemon)
{
    const struct experiment *experiment = riptide_agent_get_experiment(daemon->agent);

    return experiment->holdout_percent > 0 ? effect_pooled(experiment) : json_null();
}

double daemon_suspended_s(const struct daemon *daemon)
{
    uint64_t until_ns = riptide_agent_get_stats(daemon->agent)->suspended_until_ns;
    uint64_t now_ns = clock_read_ns(CLOCK_BOOTTIME);

    return until_ns > now_ns ? (double)(until_ns - now_ns) / 1e9 : 0;
}

static uint64_t sum_opened(const struct riptide_program_counts *counts)
{
    return counts->given + counts->kept + counts->held_out;
}

/* The largest window of the bucket with the median; 0: none was given, or it is above all. */
static uint64_t find_median(const struct riptide_program_counts *now,
                            const struct riptide_program_counts *then)
{
    uint64_t n = 0, given = now->given - then->given;

    for (size_t i = 0; i < RIPTIDE_WINDOW_BUCKETS; i++) {
        n += now->by_cwnd[i] - then->by_cwnd[i];
        if (given > 0 && 2 * n >= given)
            return riptide_window_bounds[i];
    }
    return 0;
}

/* Connections of the last 50 to 60 seconds that the program counted; null: there is none. */
static json_t *minute_of(const struct minute *minute, const struct riptide_applier_stats *stats)
{
    static const struct riptide_program_counts none;
    const struct riptide_program_counts *now = &stats->program, *then;

    if (stats->backend == RIPTIDE_ROUTES || minute->n == 0)
        return json_null();
    then = &minute->then[minute->n < MINUTE_PARTS ? 0 : minute->n % MINUTE_PARTS];
    /* A program that was attached again has begun anew. */
    if (sum_opened(now) < sum_opened(then))
        then = &none;
    return json_pack("{s:I, s:I, s:I, s:o}", "opened",
                     (json_int_t)(sum_opened(now) - sum_opened(then)), "given",
                     (json_int_t)(now->given - then->given), "held_out",
                     (json_int_t)(now->held_out - then->held_out), "cwnd_median",
                     figure_or_null(find_median(now, then)));
}

/* The backend, and the counters of windows by the program. */
static json_t *apply_of(const struct daemon *daemon)
{
    const struct riptide_applier_stats stats = *riptide_agent_get_stats(daemon->agent)->applier;
    const struct riptide_program_counts counts = stats.program;
    const struct experiment *experiment = riptide_agent_get_experiment(daemon->agent);

    return json_pack(
        "{s:s, s:s, s:s?, s:s?, s:b, s:I, s:I, s:I, s:o, s:I, s:f, s:I, s:o, s:o}",
        "asked", riptide_name(RIPTIDE_NAMES_BACKEND, daemon->settings->applier.backend), "by",
        riptide_name(RIPTIDE_NAMES_BACKEND, stats.backend),
        "why", stats.why, "reason", stats.program_reason, "pacing",
        daemon->settings->applier.pacing, "given", (json_int_t)counts.given, "paced",
        (json_int_t)counts.paced, "kept",
        (json_int_t)counts.kept, "holdout_percent", effect_percent(experiment),
        "held_out", (json_int_t)counts.held_out, "suspended_s", daemon_suspended_s(daemon),
        "suspensions", (json_int_t)experiment->suspension.n, "effect", effect_of(daemon),
        "last_minute", minute_of(&daemon->health.minute, &stats));
}

/* Whether the rules of a family are in place, or why not. */
static json_t *rules_of(const struct daemon *daemon, uint8_t family)
{
    const char *reason =
        riptide_agent_get_stats(daemon->agent)->applier->rules_reason[family_index(family)];

    if (daemon->settings->applier.dry_run)
        reason = "dry run: no rule is written";
    return json_pack("{s:b, s:s?}", "in_place", reason == NULL, "reason", reason);
}

/* The rules are read only where there is something to explain. */
static const char *explain_not_taken(const struct riptide_applier_stats *stats, char *text,
                                     size_t size)
{
    const char *lead = "; before ours: ";
    char rule[KERNEL_RULE_BYTES];
    int end = snprintf(text, size, "TCP does not use %" PRIu64 " of %" PRIu64 " routes",
                       stats->routes_not_taken, stats->routes);

    for (size_t i = 0; i < 2; i++) {
        if (!kernel_find_before(families[i], rule))
            continue;
        end += snprintf(text + end, size - (size_t)end, "%s%s", lead, rule);
        lead = ", ";
    }
    return text;
}

/* One word, and the reason if something configured is missing. */
static json_t *health_of(const struct daemon *daemon)
{
    const struct riptide_agent_stats *agent = riptide_agent_get_stats(daemon->agent);
    const struct riptide_estimator_stats *estimator = agent->estimator;
    const struct riptide_applier_stats stats = *agent->applier;
    const char *why_no_program = stats.program_reason, *why_no_rules = NULL;
    const char *health = "ok", *reason = NULL;
    char text[256];

    if (stats.backend != RIPTIDE_PROGRAM)
        why_no_rules = stats.rules_reason[0] ? stats.rules_reason[0] : stats.rules_reason[1];
    if (daemon->health.failure[0]) {
        health = "failing";
        reason = daemon->health.failure;
    } else if (agent->is_paused) {
        health = "paused";
    } else if (stats.routes_not_taken > 0 && !why_no_rules &&
               (stats.backend == RIPTIDE_ROUTES || why_no_program)) {
        health = "degraded";
        reason = explain_not_taken(&stats, text, sizeof(text));
    } else if (stats.backend == RIPTIDE_BOTH && !why_no_rules != !why_no_program) {
        snprintf(text, sizeof(text), "windows are given %s only: %s",
                 why_no_rules ? "by the program" : "by routes",
                 why_no_rules ? why_no_rules : why_no_program);
        reason = text;
    } else if (why_no_rules || why_no_program) {
        health = "off";
        reason = why_no_rules ? why_no_rules : why_no_program;
    } else if (daemon->health.n_ticks == 0) {
        health = "starting";
    } else if (estimator->is_full) {
        char largest[RIPTIDE_PREFIX_TEXT_BYTES];

        health = "full";
        riptide_prefix_format(&estimator->largest, largest);
        snprintf(text, sizeof(text),
                 "--max-destinations %" PRIu32 " are in use, %" PRIu32
                 " of them in %s: those with fewest connections give way",
                 daemon->settings->estimator.max_destinations, estimator->largest_destinations,
                 largest);
        reason = text;
    } else if (stats.routes_not_taken > 0) { /* the program gives them */
        reason = explain_not_taken(&stats, text, sizeof(text));
    }
    return json_pack("{s:s, s:s?, s:I, s:f, s:o, s:{s:o, s:o}}", "health", health, "reason", reason,
                     "not_taken", (json_int_t)stats.routes_not_taken, "in_force_percent",
                     (double)stats.in_force_permille / 10, "apply", apply_of(daemon), "rules",
                     "ipv4", rules_of(daemon, AF_INET), "ipv6", rules_of(daemon, AF_INET6));
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
    return json_pack("{s:I, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:f}", "number",
                     (json_int_t)health->n_ticks, "ago_s",
                     s(clock_read_ns(CLOCK_BOOTTIME) - tick->finished_ns), "took_ms",
                     ms(tick->finished_ns - tick->started_ns), "cpu_ms", ms(health->round_cpu_ns),
                     "late_ms", ms(health->late_ns), "late_max_ms", ms(health->late_max_ns),
                     "connections", (json_int_t)tick->samples,
                     "refused", (json_int_t)tick->overflow, "interval_s", s(tick->interval_ns));
}

static json_t *time_json(time_t time)
{
    char text[32];
    struct tm tm;

    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&time, &tm));
    return json_string(text);
}

static json_t *messages_of(void)
{
    const struct log_recent *line;
    json_t *messages = json_array();

    for (unsigned int i = 0; (line = log_get_recent(i)); i++) {
        json_t *text = json_string(line->text);

        json_array_append_new(messages, json_pack("{s:o, s:s, s:o}", "time", time_json(line->time),
                                                  "level", log_level_name(line->level), "text",
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

static uint32_t count_hints(const struct riptide_agent *agent)
{
    struct riptide_hint hint;
    uint32_t n = 0;

    while (riptide_estimator_next_hint(riptide_agent_get_estimator(agent), &n, &hint) == 0)
        continue;
    return n;
}

json_t *daemon_status(struct daemon *daemon)
{
    const struct settings *settings = daemon->settings;
    json_t *status = health_of(daemon);
    const struct riptide_agent_stats *stats = riptide_agent_get_stats(daemon->agent);
    const struct riptide_observer_stats *observer = stats->observer;
    const struct riptide_estimator_stats *estimator = stats->estimator;
    const struct riptide_applier_stats *applier = stats->applier;
    char largest[RIPTIDE_PREFIX_TEXT_BYTES];

    riptide_prefix_format(&estimator->largest, largest);
    json_object_update_new(
        status,
        json_pack(
            "{s:I, s:s, s:i, s:f, s:b, s:b, s:f, s:f, s:s, s:I, s:I, s:I, s:I, s:I, s:{s:s, s:I}, s:I, "
            "s:I, s:I, s:I, s:o, s:{s:I, s:I, s:I, s:I, s:I, s:I}, s:o}",
            "hints", (json_int_t)count_hints(daemon->agent), "version", riptide_version(), "pid",
            (int)getpid(), "uptime_s", s(clock_read_ns(CLOCK_BOOTTIME) - daemon->health.started_ns),
            "dry_run", settings->applier.dry_run, "paused", stats->is_paused, "interval_s",
            s(settings->agent.interval_ns), "ttl_s", s(settings->estimator.ttl_ns), "policy",
            settings->estimator.policy->name, "cwnd_max",
            (json_int_t)settings->estimator.cwnd_max, "table", (json_int_t)settings->applier.table,
            "connections", (json_int_t)daemon->health.tick.samples, "destinations",
            (json_int_t)estimator->destinations, "max_destinations",
            (json_int_t)settings->estimator.max_destinations, "largest", "prefix", largest,
            "destinations", (json_int_t)estimator->largest_destinations, "routes",
            (json_int_t)applier->routes,
            "left_alone", (json_int_t)applier->left_alone, "max_routes",
            (json_int_t)settings->applier.max_windows, "clients",
            (json_int_t)control_count_clients(daemon->control), "round", round_of(&daemon->health),
            "counters", "routes_written", (json_int_t)applier->written,
            "routes_refused", (json_int_t)applier->failed, "lifts",
            (json_int_t)applier->rule_removals, "overruns", (json_int_t)applier->overruns, "dumps", (json_int_t)observer->dumps, "dumps_failed", (json_int_t)observer->failures,
            "messages", messages_of()));
    return status;
}

/* What a list shows of a destination: its route, or what the program has. */
static const struct riptide_route *shown_of(const struct riptide_window *window)
{
    return window->route ? window->route : window->program;
}

bool daemon_next(struct daemon *daemon, uint32_t *cursor, struct request_row *row)
{
    const struct riptide_window *window;

    do {
        if (riptide_agent_next(daemon->agent, cursor, &window) != 0)
            return false;
    } while (!shown_of(window));
    row->route = *shown_of(window);
    row->estimate = window->estimate ? *window->estimate : (struct riptide_estimate){ .cwnd = 0 };
    return true;
}

/* The program's window for new connections to the peer, independent of routes. */
static json_t *program_of(const struct daemon *daemon, const struct riptide_window *window)
{
    const struct experiment *experiment = riptide_agent_get_experiment(daemon->agent);
    const struct riptide_applier_stats *stats = riptide_agent_get_stats(daemon->agent)->applier;
    const struct riptide_estimate *estimate = window->estimate;
    uint32_t pacing_percent;

    if (!window->program || window->program->state != RIPTIDE_ROUTE_APPLIED || !estimate)
        return json_null();
    pacing_percent = estimate->pacing_percent == RIPTIDE_AT_ONCE ? 0 : estimate->pacing_percent;
    return json_pack(
        "{s:s, s:I, s:I, s:b, s:I, s:s?, s:o, s:I, s:I}", "cgroup", stats->cgroup, "initcwnd",
        (json_int_t)window->program->initcwnd, "receive_bytes",
        (json_int_t)estimate->cwnd_max * PEER_MSS_BYTES, "may_lower", estimate->may_lower,
        "pacing_percent",
        (json_int_t)pacing_percent, "reason", stats->program_reason, "holdout_percent",
        effect_percent(experiment), "holdout_seed",
        (json_int_t)experiment->seed, "given",
        (json_int_t)stats->program.given);
}

json_t *daemon_explain(struct daemon *daemon, const struct riptide_prefix *peer)
{
    const struct settings *settings = daemon->settings;
    json_t *window = json_null(), *seen = json_null(), *route = json_null();
    const struct riptide_window nothing = { .estimate = NULL }, *found = &nothing;
    uint64_t now_ns = clock_read_ns(CLOCK_BOOTTIME);
    const struct riptide_applier_stats *stats;
    const struct riptide_estimate *estimate;
    const struct riptide_route *shown;
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];
    struct riptide_prefix group;

    riptide_estimator_group(riptide_agent_get_estimator(daemon->agent), peer, &group);
    riptide_prefix_format(&group, dst);
    stats = riptide_agent_get_stats(daemon->agent)->applier;
    riptide_agent_find(daemon->agent, &group, &found);
    estimate = found->estimate;
    if (estimate && (estimate->cwnd > 0 || estimate->hint.family)) {
        window = explanation_window(estimate, settings->estimator.ttl_ns, now_ns);
    } else if (estimate) {
        seen = explanation_seen(estimate);
        json_object_set_new(seen, "age_s", json_real(s(now_ns - (uint64_t)estimate->updated_ns)));
    }
    shown = shown_of(found);
    if (shown) {
        route = explanation_route(shown);
        if (shown->backend == RIPTIDE_PROGRAM && shown->state == RIPTIDE_ROUTE_APPLIED &&
            stats->program_reason)
            json_object_set_new(route, "reason", json_string(stats->program_reason));
    }
    return json_pack(
        "{s:s, s:b, s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:{s:s, s:s?}}", "destination", dst,
        "in_scope", settings_have_peer(settings, peer), "policy", settings->estimator.policy->name,
        "dry_run", settings->applier.dry_run, "window", window, "seen", seen, "route", route,
        "program", program_of(daemon, found), "rules", rules_of(daemon, peer->family), "apply",
        "by", riptide_name(RIPTIDE_NAMES_BACKEND, stats->backend), "why", stats->why);
}

/* Why nothing is compared, and the remedy; NULL: it is. */
static const char *why_not_compared(const struct daemon *daemon)
{
    const struct riptide_agent_stats *agent = riptide_agent_get_stats(daemon->agent);
    const struct riptide_applier_stats stats = *agent->applier;

    if (daemon->settings->applier.dry_run)
        return "a dry run gives no window";
    if (stats.backend == RIPTIDE_ROUTES && stats.why)
        return stats.why;
    if (stats.backend == RIPTIDE_ROUTES)
        return "windows are given by routes, which cannot hold out single connections: --apply "
               "program can";
    if (daemon->settings->applier.holdout_percent == 0)
        return "no connection is held out: --holdout-percent 5 would hold out so many";
    return NULL;
}

json_t *daemon_verdict(struct daemon *daemon)
{
    const char *reason = why_not_compared(daemon);
    const struct experiment *experiment = riptide_agent_get_experiment(daemon->agent);
    json_t *document = effect_document(reason, experiment, daemon_suspended_s(daemon));

    if (!reason)
        json_object_set_new(document, "since", time_json((time_t)experiment->since_s));
    return document;
}

json_t *daemon_list(struct daemon *daemon)
{
    const struct riptide_agent_stats *agent = riptide_agent_get_stats(daemon->agent);
    const struct riptide_applier_stats stats = *agent->applier;
    bool is_program = stats.backend != RIPTIDE_ROUTES;
    const char *off = stats.program_reason;

    if (is_program && daemon->settings->applier.dry_run)
        off = "a dry run";
    return json_pack("{s:b, s:b, s:s?}", "paused", agent->is_paused,
                     "is_by_program", is_program, "why_off", off);
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
