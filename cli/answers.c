/* SPDX-License-Identifier: MIT */
/* Answers about the whole daemon, from the agent's structs. docs/control.md has their members. */
#include "daemon.h"

#include <stdlib.h>
#include <unistd.h>

static json_t *change_json(const struct riptide_change *change)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f}", "held_out", change->held_out, "with_window",
                     change->with_window, "change", change->change, "low", change->low, "high",
                     change->high);
}

const char *answer_word(const struct riptide_verdict *verdict)
{
    const bool helps = verdict->time.high < 0 || verdict->retransmitted.high < 0;
    const bool harms = verdict->time.low > 0 || verdict->retransmitted.low > 0;
    static const char *const words[2][2] = { { "none", "harms" }, { "helps", "mixed" } };

    return words[helps][harms];
}

json_t *answer_verdict(struct daemon *daemon, const struct request *request,
                       struct riptide_error *error)
{
    const uint32_t asked = daemon->settings->applier.holdout_percent;
    struct riptide_verdict verdict;
    const bool is_known = riptide_agent_get_verdict(daemon->agent, &verdict, sizeof(verdict)) == 0;
    const char *reason = verdict.holdout_percent > 0
                             ? verdict.reason
                             : "no connection is held out, which needs windows by the program "
                               "(--apply), and --holdout-percent";

    return json_pack("{s:s, s:o, s:I, s:I, s:o?, s:o?, s:o?, s:s, s:s, s:s, s:f, s:b, s:f}",
                     "verdict", is_known ? answer_word(&verdict) : "unknown", "reason",
                     text_or_null(reason), "connections", (json_int_t)verdict.connections,
                     "held_out", (json_int_t)verdict.held_out, "time",
                     is_known ? change_json(&verdict.time) : NULL, "retransmitted",
                     is_known ? change_json(&verdict.retransmitted) : NULL, "halves",
                     verdict.halves.held_out > 0 ? change_json(&verdict.halves) : NULL, "best",
                     verdict.best, "worst", verdict.worst, "left_out", verdict.left_out,
                     "holdout_percent", verdict.holdout_percent, "is_settled",
                     verdict.holdout_percent > 0 && verdict.holdout_percent < asked, "suspended_s",
                     health_suspended_s(daemon));
}

static json_t *apply_json(struct daemon *daemon)
{
    const struct riptide_applier_stats *stats = riptide_agent_get_stats(daemon->agent)->applier;
    const struct riptide_program_counts opened = health_count_opened(daemon);
    json_t *effect = answer_verdict(daemon, NULL, NULL);
    const double holdout_percent = real(effect, "holdout_percent");

    if (holdout_percent == 0) {
        json_decref(effect);
        effect = NULL;
    }
    return json_pack("{s:s, s:s, s:s?, s:s?, s:f, s:I, s:f, s:o?, s:o}", "asked",
                     riptide_name(RIPTIDE_NAMES_BACKEND, daemon->settings->applier.backend), "by",
                     riptide_name(RIPTIDE_NAMES_BACKEND, stats->backend), "why", stats->why,
                     "reason", stats->program_reason, "holdout_percent", holdout_percent,
                     "held_out", (json_int_t)stats->program.held_out, "suspended_s",
                     health_suspended_s(daemon), "effect", effect, "last_minute",
                     minute_json(&daemon->health.minute, &opened));
}

static json_t *round_json(const struct health *health)
{
    const struct riptide_tick *tick = &health->tick;

    if (health->n_ticks == 0)
        return json_null();
    return json_pack("{s:I, s:f, s:f, s:I, s:f}", "number", (json_int_t)health->n_ticks, "ago_s",
                     (double)(clock_read_ns(CLOCK_BOOTTIME) - tick->finished_ns) / 1e9, "late_ms",
                     (double)health->late_ns / 1e6, "connections", (json_int_t)tick->samples,
                     "interval_s", (double)tick->interval_ns / 1e9);
}

json_t *answer_status(struct daemon *daemon, const struct request *request,
                      struct riptide_error *error)
{
    const struct riptide_agent_stats *stats = riptide_agent_get_stats(daemon->agent);
    const struct riptide_applier_stats *applier = stats->applier;
    const struct settings *settings = daemon->settings;
    struct diagnosis diagnosis;
    struct riptide_route first;

    health_diagnose(daemon, &diagnosis);
    return json_pack(
        "{s:s, s:o, s:s?, s:o, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:o, s:s, s:i, s:f, "
        "s:b, s:s, s:I, s:o}",
        "health", diagnosis.word, "reason", text_or_null(diagnosis.reason.text), "do",
        diagnosis.remedy, "state_failure", text_or_null(daemon->state_failure), "paused",
        stats->is_paused, "hints", (json_int_t)hints_count(daemon), "destinations",
        (json_int_t)stats->estimator->destinations, "max_destinations",
        (json_int_t)settings->estimator.max_destinations, "routes", (json_int_t)applier->routes,
        "left_alone", (json_int_t)applier->left_alone, "not_taken",
        (json_int_t)applier->routes_not_taken, "refused",
        (json_int_t)health_find_routes(daemon, RIPTIDE_ROUTE_FAILED, &first), "in_force_percent",
        (double)applier->in_force_permille / 10, "apply", apply_json(daemon), "version",
        riptide_version(), "pid", (int)getpid(), "uptime_s",
        (double)(clock_read_ns(CLOCK_BOOTTIME) - daemon->health.started_ns) / 1e9, "dry_run",
        settings->applier.dry_run, "policy", settings->estimator.policy->name, "cwnd_max",
        (json_int_t)settings->estimator.cwnd_max, "round", round_json(&daemon->health));
}

json_t *answer_history(struct daemon *daemon, const struct request *request,
                       struct riptide_error *error)
{
    files_note_hour(daemon);
    return json_pack("{s:O}", "hours", daemon->history.hours);
}

json_t *answer_metrics(struct daemon *daemon, const struct request *request,
                       struct riptide_error *error)
{
    char *text = metrics_text(daemon);
    json_t *answer = text ? json_pack("{s:s}", "metrics", text) : NULL;

    free(text);
    return answer;
}
