/* SPDX-License-Identifier: MIT */
/*
 * Answers to requests that change nothing, from the agent's public structs; docs/control.md has
 * their members. Reads the clocks.
 */
#include "daemon.h"

#include "clock.h"
#include "explanation.h"
#include "kernel.h"
#include "log.h"
#include "members.h"
#include "prefixes.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Between two notes of the last minute's counters. */
#define PART_NS (10 * NS_PER_S)

static void note_minute(struct daemon *daemon, uint64_t now_ns)
{
    const struct riptide_agent_stats *stats = riptide_agent_get_stats(daemon->agent);
    struct minute *minute = &daemon->health.minute;
    const unsigned int next = minute->n % MINUTE_PARTS;
    const unsigned int last = (minute->n + MINUTE_PARTS - 1) % MINUTE_PARTS;

    if (minute->n > 0 && now_ns - minute->then[last].noted_ns < PART_NS)
        return;
    minute->then[next].opened = metrics_count_opened(stats);
    memcpy(minute->then[next].by_cwnd, stats->applier->program.by_cwnd,
           sizeof(minute->then[next].by_cwnd));
    minute->then[next].noted_ns = now_ns;
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

static void note_tick(struct daemon *daemon, const struct riptide_tick *tick)
{
    const uint64_t until_ns = riptide_agent_get_stats(daemon->agent)->suspended_until_ns;
    struct health *health = &daemon->health;

    /* A round whose dump failed ends as well: only one without a failure clears it. */
    if (!health->is_failure_new)
        health->failure[0] = '\0';
    health->is_failure_new = false;
    note_lateness(health, tick);
    health->tick = *tick;
    health->n_ticks++;
    /* One that goes on from before the start is none of this process. */
    health->suspensions +=
        until_ns > 0 && until_ns != health->suspended_until_ns && health->n_ticks > 1;
    health->suspended_until_ns = until_ns;
    note_minute(daemon, tick->finished_ns);
    /* `riptide status` reads from it when the last round of a daemon was that hangs. */
    if (daemon->control)
        utimensat(AT_FDCWD, daemon->settings->control, NULL, AT_SYMLINK_NOFOLLOW);
}

/* Whether only what goes along with the window is new, as the shortest timeout of retransmissions. */
static bool is_repeat(const struct daemon *daemon, const struct riptide_route *route)
{
    for (unsigned int i = 1; i <= CHANGES && i <= daemon->n_changes; i++) {
        const struct riptide_route *before =
            &daemon->changes[(daemon->n_changes - i) % CHANGES].route;

        if (before->backend == route->backend && prefix_equals(&before->dst, &route->dst))
            return before->state == route->state && before->initcwnd == route->initcwnd &&
                   strcmp(before->reason, route->reason) == 0;
    }
    return false;
}

void answers_note(struct daemon *daemon, const struct riptide_agent_event *event)
{
    struct change *change;

    switch (event->kind) {
    case RIPTIDE_AGENT_TICK:
        note_tick(daemon, event->tick);
        break;
    case RIPTIDE_AGENT_FAILED:
        snprintf(daemon->health.failure, sizeof(daemon->health.failure), "%s", event->reason);
        daemon->health.is_failure_new = true;
        break;
    case RIPTIDE_AGENT_WINDOW:
        if (is_repeat(daemon, event->outcome))
            break;
        change = &daemon->changes[daemon->n_changes++ % CHANGES];
        change->time = (time_t)(clock_read_ns(CLOCK_REALTIME) / NS_PER_S);
        change->route = *event->outcome;
        break;
    default:
        break;
    }
}

static double s_of(uint64_t ns)
{
    return (double)ns / 1e9;
}

static double ms_of(uint64_t ns)
{
    return (double)ns / 1e6;
}

static json_t *time_json(time_t time)
{
    char text[32];
    struct tm tm;

    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&time, &tm));
    return json_string(text);
}

double daemon_suspended_s(const struct daemon *daemon)
{
    uint64_t until_ns = riptide_agent_get_stats(daemon->agent)->suspended_until_ns;
    uint64_t now_ns = clock_read_ns(CLOCK_BOOTTIME);

    return until_ns > now_ns ? s_of(until_ns - now_ns) : 0;
}

/* Why nothing is compared, and the remedy; NULL: it is. */
static const char *why_not_compared(const struct daemon *daemon)
{
    const struct riptide_applier_stats *stats = riptide_agent_get_stats(daemon->agent)->applier;

    if (daemon->settings->applier.dry_run)
        return "a dry run gives no window";
    if (stats->backend == RIPTIDE_ROUTES && stats->why)
        return stats->why;
    if (stats->backend == RIPTIDE_ROUTES)
        return "windows are given by routes, which cannot hold out single connections: --apply "
               "program can";
    if (daemon->settings->applier.holdout_percent == 0)
        return "no connection is held out: --holdout-percent 5 would hold out so many";
    return NULL;
}

static json_t *change_json(const struct riptide_change *change)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f}", "held_out", change->held_out, "with_window",
                     change->with_window, "change", change->change, "low", change->low, "high",
                     change->high);
}

/* 1: less time, or fewer retransmissions; -1: more; 0: no difference is shown. */
static int gain_of(const struct riptide_change *change)
{
    if (change->high < 0)
        return 1;
    return change->low > 0 ? -1 : 0;
}

static const char *word_of(const struct riptide_verdict *verdict)
{
    const int time = gain_of(&verdict->time), retransmitted = gain_of(&verdict->retransmitted);

    if (time * retransmitted < 0)
        return "mixed";
    if (time + retransmitted == 0)
        return "none";
    return time + retransmitted > 0 ? "helps" : "harms";
}

json_t *daemon_verdict(struct daemon *daemon)
{
    struct riptide_verdict verdict = { .connections = 0 };
    const char *reason = why_not_compared(daemon);
    json_t *time = json_null(), *retransmitted = json_null(), *halves = json_null();
    bool is_known = false;

    if (!reason) {
        is_known = riptide_agent_get_verdict(daemon->agent, &verdict, sizeof(verdict)) == 0;
        reason = verdict.reason[0] ? verdict.reason : NULL;
    }
    if (is_known) {
        time = change_json(&verdict.time);
        retransmitted = change_json(&verdict.retransmitted);
    }
    if (verdict.halves.held_out > 0)
        halves = change_json(&verdict.halves);
    return json_pack("{s:s, s:s?, s:I, s:I, s:o, s:o, s:o, s:s, s:s, s:s, s:f, s:b, s:f}", "verdict",
                     is_known ? word_of(&verdict) : "unknown", "reason", reason, "connections",
                     (json_int_t)verdict.connections, "held_out", (json_int_t)verdict.held_out,
                     "time", time, "retransmitted", retransmitted, "halves", halves, "best",
                     verdict.best, "worst", verdict.worst, "left_out", verdict.left_out,
                     "holdout_percent", verdict.holdout_percent, "is_settled",
                     verdict.holdout_percent < daemon->settings->applier.holdout_percent,
                     "suspended_s", daemon_suspended_s(daemon));
}

/* The largest window of each bucket of struct riptide_program_counts; the last one has none. */
static const uint32_t bucket_cwnd[RIPTIDE_WINDOW_BUCKETS - 1] = {
    10, 15, 20, 30, 40, 50, 60, 80, 100, 200, 500,
};

/* The bound of the bucket with the median; null: none was given, or it is above all. */
static json_t *median_json(const uint64_t now[RIPTIDE_WINDOW_BUCKETS],
                           const uint64_t then[RIPTIDE_WINDOW_BUCKETS])
{
    uint64_t n = 0, below = 0;

    for (size_t i = 0; i < RIPTIDE_WINDOW_BUCKETS; i++)
        n += now[i] - then[i];
    for (size_t i = 0; n > 0 && i < RIPTIDE_WINDOW_BUCKETS - 1; i++) {
        below += now[i] - then[i];
        if (2 * below >= n)
            return json_integer(bucket_cwnd[i]);
    }
    return json_null();
}

/* Connections of the last 50 to 60 seconds. */
static json_t *minute_json(const struct daemon *daemon)
{
    static const uint64_t none[RIPTIDE_WINDOW_BUCKETS];
    const struct riptide_agent_stats *stats = riptide_agent_get_stats(daemon->agent);
    const struct opened_counts now = metrics_count_opened(stats);
    const struct minute *minute = &daemon->health.minute;
    struct opened_counts then = { .without = 0 };
    const uint64_t *by_cwnd = none;
    json_int_t with_window, held_out, without;

    if (minute->n == 0)
        return json_null();
    then = minute->then[minute->n < MINUTE_PARTS ? 0 : minute->n % MINUTE_PARTS].opened;
    by_cwnd = minute->then[minute->n < MINUTE_PARTS ? 0 : minute->n % MINUTE_PARTS].by_cwnd;
    /* A program that was attached again has begun anew. */
    if (now.with_window < then.with_window || now.without < then.without) {
        then = (struct opened_counts){ .without = 0 };
        by_cwnd = none;
    }
    with_window = (json_int_t)(now.with_window - then.with_window);
    held_out = (json_int_t)(now.held_out - then.held_out);
    without = (json_int_t)(now.without - then.without);
    return json_pack("{s:I, s:I, s:I, s:I, s:o}", "opened", with_window + held_out + without,
                     "given", with_window, "held_out", held_out, "without", without,
                     "cwnd_median", median_json(stats->applier->program.by_cwnd, by_cwnd));
}

/* In force now. */
static double holdout_percent(const struct daemon *daemon)
{
    struct riptide_verdict verdict = { .holdout_percent = 0 };

    if (!why_not_compared(daemon))
        riptide_agent_get_verdict(daemon->agent, &verdict, sizeof(verdict));
    return verdict.holdout_percent;
}

static json_t *apply_json(struct daemon *daemon)
{
    const struct riptide_applier_stats *stats = riptide_agent_get_stats(daemon->agent)->applier;

    return json_pack("{s:s, s:s, s:s?, s:s?, s:f, s:I, s:f, s:I, s:o, s:o}", "asked",
                     riptide_name(RIPTIDE_NAMES_BACKEND, daemon->settings->applier.backend), "by",
                     riptide_name(RIPTIDE_NAMES_BACKEND, stats->backend), "why", stats->why,
                     "reason", stats->program_reason, "holdout_percent", holdout_percent(daemon),
                     "held_out", (json_int_t)stats->program.held_out, "suspended_s",
                     daemon_suspended_s(daemon), "suspensions",
                     (json_int_t)daemon->health.suspensions, "effect",
                     why_not_compared(daemon) ? json_null() : daemon_verdict(daemon),
                     "last_minute", minute_json(daemon));
}

/* Whether the rules of a family are in place, or why not. */
static json_t *rules_json(const struct daemon *daemon, uint8_t family)
{
    const struct riptide_applier_stats *stats = riptide_agent_get_stats(daemon->agent)->applier;
    const char *reason = stats->rules_reason[family == AF_INET ? 0 : 1];

    if (daemon->settings->applier.dry_run)
        reason = "dry run: no rule is written";
    return json_pack("{s:b, s:s?}", "in_place", reason == NULL, "reason", reason);
}

/* The rules are read only where there is something to explain. */
static void explain_not_taken(const struct riptide_applier_stats *stats, char reason[256])
{
    struct kernel_rules rules;
    int end = snprintf(reason, 256, "TCP does not use %" PRIu64 " of %" PRIu64 " routes",
                       stats->routes_not_taken, stats->routes);

    if (kernel_read_rules(&rules) == 0 && (rules.before[0][0] || rules.before[1][0]))
        snprintf(reason + end, 256 - (size_t)end, "; before ours: %s%s%s", rules.before[0],
                 rules.before[0][0] && rules.before[1][0] ? ", " : "", rules.before[1]);
}

/* One word; `reason`: what is missing of the configured. Empty: nothing. */
static const char *health_of(const struct daemon *daemon, char reason[256])
{
    const struct riptide_agent_stats *agent = riptide_agent_get_stats(daemon->agent);
    const struct riptide_estimator_stats *estimator = agent->estimator;
    const struct riptide_applier_stats *stats = agent->applier;
    const char *why_no_program = stats->program_reason, *why_no_rules = NULL;
    const bool has_no_ipv4 = stats->rules_reason[0], has_no_ipv6 = stats->rules_reason[1];
    char largest[RIPTIDE_PREFIX_TEXT_BYTES];

    reason[0] = '\0';
    if (stats->backend != RIPTIDE_PROGRAM)
        why_no_rules = stats->rules_reason[0] ? stats->rules_reason[0] : stats->rules_reason[1];
    if (daemon->health.failure[0]) {
        snprintf(reason, 256, "%s", daemon->health.failure);
        return "failing";
    }
    if (agent->is_paused)
        return "paused";
    if (daemon_suspended_s(daemon) > 0 && (why_no_program || why_no_rules)) {
        snprintf(reason, 256, "%s", why_no_program ? why_no_program : why_no_rules);
        return "suspended";
    }
    if (stats->routes_not_taken > 0 && !why_no_rules)
        explain_not_taken(stats, reason);
    if (reason[0] && (stats->backend == RIPTIDE_ROUTES || why_no_program))
        return stats->routes_not_taken == stats->routes ? "off" : "degraded";
    if (stats->backend == RIPTIDE_BOTH && !why_no_rules != !why_no_program) {
        snprintf(reason, 256, "windows are given %s only: %s",
                 why_no_rules ? "by the program" : "by routes",
                 why_no_rules ? why_no_rules : why_no_program);
        return "ok";
    }
    if (stats->backend == RIPTIDE_ROUTES && has_no_ipv4 != has_no_ipv6) {
        snprintf(reason, 256, "IPv%c: %s", has_no_ipv4 ? '4' : '6', why_no_rules);
        return "degraded";
    }
    if (why_no_rules || why_no_program) {
        snprintf(reason, 256, "%s", why_no_rules ? why_no_rules : why_no_program);
        return "off";
    }
    if (daemon->health.n_ticks == 0)
        return "starting";
    if (!estimator->is_full)
        return "ok";
    riptide_prefix_format(&estimator->largest, largest);
    snprintf(reason, 256,
             "--max-destinations %" PRIu32 " are in use, %" PRIu32
             " of them in %s: those with fewest connections give way",
             daemon->settings->estimator.max_destinations, estimator->largest_destinations,
             largest);
    return "full";
}

static json_t *round_json(const struct health *health)
{
    const struct riptide_tick *tick = &health->tick;

    if (health->n_ticks == 0)
        return json_null();
    return json_pack("{s:I, s:f, s:f, s:f, s:f, s:I, s:f}", "number",
                     (json_int_t)health->n_ticks, "ago_s",
                     s_of(clock_read_ns(CLOCK_BOOTTIME) - tick->finished_ns), "took_ms",
                     ms_of(tick->finished_ns - tick->started_ns), "late_ms",
                     ms_of(health->late_ns), "late_max_ms", ms_of(health->late_max_ns),
                     "connections", (json_int_t)tick->samples, "interval_s", s_of(tick->interval_ns));
}

static json_t *messages_json(void)
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

/* What concerns the daemon itself. */
static json_t *process_json(struct daemon *daemon)
{
    const struct settings *settings = daemon->settings;

    return json_pack("{s:s, s:i, s:f, s:b, s:s, s:I, s:I, s:I, s:o, s:o}", "version", riptide_version(),
                     "pid", (int)getpid(), "uptime_s",
                     s_of(clock_read_ns(CLOCK_BOOTTIME) - daemon->health.started_ns), "dry_run",
                     settings->applier.dry_run, "policy", settings->estimator.policy->name,
                     "cwnd_max", (json_int_t)settings->estimator.cwnd_max, "table",
                     (json_int_t)settings->applier.table, "clients",
                     (json_int_t)control_count_clients(daemon->control), "round",
                     round_json(&daemon->health), "messages", messages_json());
}

json_t *daemon_status(struct daemon *daemon)
{
    const struct riptide_agent_stats *stats = riptide_agent_get_stats(daemon->agent);
    const struct riptide_estimator_stats *estimator = stats->estimator;
    const struct riptide_applier_stats *applier = stats->applier;
    char largest[RIPTIDE_PREFIX_TEXT_BYTES], reason[256];
    const char *health = health_of(daemon, reason);
    json_t *status = json_pack(
        "{s:s, s:s?, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:f}", "health", health, "reason",
        reason[0] ? reason : NULL, "paused", stats->is_paused, "hints",
        (json_int_t)hints_count(daemon), "destinations", (json_int_t)estimator->destinations,
        "max_destinations", (json_int_t)daemon->settings->estimator.max_destinations, "routes",
        (json_int_t)applier->routes, "left_alone", (json_int_t)applier->left_alone, "not_taken",
        (json_int_t)applier->routes_not_taken, "in_force_percent",
        (double)applier->in_force_permille / 10);

    riptide_prefix_format(&estimator->largest, largest);
    json_object_set_new(status, "largest",
                        json_pack("{s:s, s:I}", "prefix", largest, "destinations",
                                  (json_int_t)estimator->largest_destinations));
    json_object_set_new(status, "apply", apply_json(daemon));
    json_object_set_new(status, "rules",
                        json_pack("{s:o, s:o}", "ipv4", rules_json(daemon, AF_INET), "ipv6",
                                  rules_json(daemon, AF_INET6)));
    json_object_update_new(status, process_json(daemon));
    return status;
}

json_t *daemon_history(struct daemon *daemon)
{
    files_note_hour(daemon);
    return json_pack("{s:o}", "hours",
                     history_json(&daemon->history, daemon->history.last.realtime_s));
}

json_t *daemon_hints(struct daemon *daemon)
{
    const uint64_t now_ns = clock_read_ns(CLOCK_BOOTTIME);
    const struct settings *settings = daemon->settings;
    json_t *hints = json_array();
    struct riptide_hint hint;

    hints_count(daemon);
    for (size_t i = 0; i < settings->n_overrides; i++) {
        hint = settings->overrides[i];
        hint.until_ns = RIPTIDE_NEVER_NS;
        json_array_append_new(hints, explanation_hint(&hint, now_ns));
    }
    for (size_t i = 0; i < daemon->hints.n; i++)
        json_array_append_new(hints, explanation_hint(&daemon->hints.list[i], now_ns));
    return json_pack("{s:o}", "hints", hints);
}

/* What a list shows of a destination: its route, or what the program has. */
static const struct riptide_route *shown_of(const struct riptide_window *window)
{
    return window->route ? window->route : window->program;
}

static bool is_applied(const struct riptide_route *route)
{
    return route && route->state == RIPTIDE_ROUTE_APPLIED;
}

bool daemon_next(struct daemon *daemon, uint32_t *cursor, struct request_row *row)
{
    const struct riptide_route *shown, *route, *program;
    const struct riptide_window *window;

    do {
        if (riptide_agent_next(daemon->agent, cursor, &window) != 0)
            return false;
        shown = shown_of(window);
    } while (!shown);
    route = is_applied(window->route) ? window->route : NULL;
    program = is_applied(window->program) ? window->program : NULL;
    *row = (struct request_row){ .dst = shown->dst, .by = "-" };
    if (program) {
        row->window = program->initcwnd;
        row->by = route ? "both" : "program";
    } else if (route) {
        row->window = route->initcwnd;
        row->by = "route";
    } else {
        snprintf(row->reason, sizeof(row->reason), "%s%s%s",
                 riptide_name(RIPTIDE_NAMES_ROUTE_STATE, shown->state),
                 shown->reason[0] ? ": " : "", shown->reason);
    }
    if (window->estimate) {
        row->connections = window->estimate->samples;
        row->min_rtt_us = window->estimate->min_rtt_us;
    }
    return true;
}

json_t *daemon_list(struct daemon *daemon)
{
    const struct riptide_agent_stats *agent = riptide_agent_get_stats(daemon->agent);
    const char *off = agent->applier->program_reason;

    if (daemon->settings->applier.dry_run)
        off = "a dry run";
    if (agent->is_paused)
        off = "paused, until riptide resume";
    return json_pack("{s:s?}", "off", off);
}

/* The program's window for new connections to the peer, independent of routes. */
static json_t *program_json(const struct daemon *daemon, const struct riptide_window *window)
{
    const struct riptide_applier_stats *stats = riptide_agent_get_stats(daemon->agent)->applier;
    const struct riptide_estimate *estimate = window->estimate;
    uint32_t pacing_percent;

    if (!is_applied(window->program) || !estimate)
        return json_null();
    pacing_percent = estimate->pacing_percent == RIPTIDE_AT_ONCE ? 0 : estimate->pacing_percent;
    return json_pack("{s:s, s:I, s:b, s:I, s:s?, s:f}", "cgroup", stats->cgroup, "initcwnd",
                     (json_int_t)window->program->initcwnd, "may_lower", estimate->may_lower,
                     "pacing_percent", (json_int_t)pacing_percent, "reason", stats->program_reason,
                     "holdout_percent", holdout_percent(daemon));
}

/* The destination's latest changes among those kept, newest first. */
static json_t *changes_json(const struct daemon *daemon, const struct riptide_prefix *dst)
{
    enum { MOST = 4 }; /* two lines of `riptide show DST` have room for them */
    json_t *changes = json_array();

    for (unsigned int i = 1; i <= CHANGES && i <= daemon->n_changes; i++) {
        const struct change *change = &daemon->changes[(daemon->n_changes - i) % CHANGES];
        const struct riptide_route *route = &change->route;

        if (!prefix_equals(&route->dst, dst) || json_array_size(changes) == MOST)
            continue;
        json_array_append_new(
            changes, json_pack("{s:o, s:s, s:s, s:I, s:o}", "time", time_json(change->time), "by",
                               riptide_name(RIPTIDE_NAMES_BACKEND, route->backend), "state",
                               riptide_name(RIPTIDE_NAMES_ROUTE_STATE, route->state), "initcwnd",
                               (json_int_t)route->initcwnd, "reason",
                               text_or_null(route->reason[0] ? route->reason : NULL)));
    }
    return changes;
}

/*
 * Why connections do not start with a window of ours, as far as riptided knows; empty: they do.
 * Returns what to do; NULL: nothing is known, or needed.
 */
static const char *explain_reason(const struct daemon *daemon, const struct riptide_prefix *peer,
                                  const struct riptide_window *window, char reason[256])
{
    const struct riptide_applier_stats *stats = riptide_agent_get_stats(daemon->agent)->applier;
    const struct riptide_estimate *estimate = window->estimate;
    const struct riptide_route *shown = shown_of(window);
    const char *why_no_program = "", *why_no_rules = "", *why;
    char hint[RIPTIDE_PREFIX_TEXT_BYTES];

    reason[0] = '\0';
    if (is_applied(window->program))
        why_no_program = stats->program_reason;
    if (is_applied(window->route))
        why_no_rules = stats->rules_reason[peer->family == AF_INET ? 0 : 1];
    if (daemon->settings->applier.dry_run) {
        snprintf(reason, 256, "a dry run, which gives no window");
        return NULL;
    }
    if (!why_no_program || !why_no_rules)
        return NULL;
    if (estimate && estimate->cwnd == 0 && estimate->hint.family) {
        riptide_prefix_format(&estimate->hint, hint);
        snprintf(reason, 256, "windows are off for %s, by a hint or a section [prefix]", hint);
        return "riptide hint lists them";
    }
    why = *why_no_program ? why_no_program : why_no_rules;
    if (*why) {
        snprintf(reason, 256, "%s", why);
        return strcmp(why, "paused") == 0 ? "riptide resume" : "riptide status";
    }
    if (shown) {
        why = shown->state == RIPTIDE_ROUTE_WITHDRAWN ? "its time to live has passed" : "";
        snprintf(reason, 256, "%s: %s", riptide_name(RIPTIDE_NAMES_ROUTE_STATE, shown->state),
                 shown->reason[0] ? shown->reason : why);
        return shown->state == RIPTIDE_ROUTE_WITHDRAWN ? NULL : "riptide doctor";
    }
    if (!explanation_has_peer(daemon->settings, peer))
        snprintf(reason, 256, "it is outside of scope, or in exclude");
    else if (estimate && estimate->cwnd > 0)
        snprintf(reason, 256, "its window is given in this round");
    else if (estimate)
        snprintf(reason, 256, "of the connections seen last none counts");
    else
        snprintf(reason, 256, "no connection to it is open to learn from");
    return NULL;
}

json_t *daemon_explain(struct daemon *daemon, const struct riptide_prefix *peer)
{
    const struct riptide_prefix group = explanation_group(daemon->settings, peer);
    const struct riptide_window nothing = { .estimate = NULL }, *found = &nothing;
    const struct settings *settings = daemon->settings;
    json_t *window = json_null(), *route = json_null();
    uint64_t now_ns = clock_read_ns(CLOCK_BOOTTIME);
    char dst[RIPTIDE_PREFIX_TEXT_BYTES], reason[256];
    const char *remedy;

    riptide_prefix_format(&group, dst);
    riptide_agent_find(daemon->agent, &group, &found);
    if (found->estimate)
        window = explanation_window(found->estimate, settings->estimator.ttl_ns, now_ns);
    if (shown_of(found))
        route = explanation_route(shown_of(found));
    remedy = explain_reason(daemon, peer, found, reason);
    return json_pack("{s:s, s:s?, s:s?, s:s, s:o, s:o, s:o, s:o}", "destination", dst,
                     "reason", reason[0] ? reason : NULL, "do", remedy, "policy",
                     settings->estimator.policy->name, "window", window, "route", route,
                     "program", program_json(daemon, found), "changes",
                     changes_json(daemon, &group));
}

void answers_print_metrics(FILE *out, const void *from)
{
    struct daemon *daemon = (struct daemon *)from;
    struct riptide_verdict verdict;
    const struct metrics metrics = {
        .settings = daemon->settings,
        .stats = riptide_agent_get_stats(daemon->agent),
        .verdict = riptide_agent_get_verdict(daemon->agent, &verdict, sizeof(verdict)) == 0
                       ? &verdict
                       : NULL,
        .interval_ns = daemon->health.tick.interval_ns,
        .cpu_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID),
        .hints = hints_count(daemon),
        .suspensions = daemon->health.suspensions,
    };

    metrics_print(out, &metrics);
}

json_t *daemon_metrics(struct daemon *daemon)
{
    char *text = NULL;
    json_t *answer;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    answers_print_metrics(out, daemon);
    answer = fclose(out) == 0 ? json_pack("{s:s}", "metrics", text) : NULL;
    free(text);
    return answer;
}
