/* SPDX-License-Identifier: MIT */
#include "answers.h"

#include "clock.h"
#include "daemon.h"
#include "diagnosis.h"
#include "members.h"
#include "metrics.h"
#include "words.h"

#include <stdlib.h>
#include <unistd.h>

/* NULL is no memory, but where there is nothing to tell, null. */
static json_t *change_json(const struct riptide_change *change, bool is_known)
{
    if (!is_known)
        return json_null();
    return json_pack("{s:f, s:f, s:f, s:f, s:f}", "held_out", change->held_out, "with_window",
                     change->with_window, "change", change->change, "low", change->low, "high",
                     change->high);
}

static json_t *verdict_json(const struct daemon *daemon)
{
    const struct riptide_applier_stats *stats = riptide_agent_get_stats(daemon->agent)->applier;
    const uint32_t asked_percent = daemon->settings->applier.holdout_percent;
    struct riptide_verdict verdict;
    const bool is_known = riptide_agent_get_verdict(daemon->agent, &verdict, sizeof(verdict)) == 0;
    const double percent = verdict.holdout_percent;
    const char *reason = verdict.reason;
    json_t *answer = json_object();

    if (percent == 0)
        reason = "no connection is held out, which needs windows by the program (--apply), and "
                 "--holdout-percent";
    add_word(&answer, "verdict", is_known ? words_verdict(&verdict) : "unknown");
    add_member(&answer, "reason", text_or_null(reason));
    add_number(&answer, "connections", verdict.connections);
    add_number(&answer, "held_out", verdict.held_out);
    add_member(&answer, "time", change_json(&verdict.time, is_known));
    add_member(&answer, "retransmitted", change_json(&verdict.retransmitted, is_known));
    add_member(&answer, "halves", change_json(&verdict.halves, verdict.halves.held_out > 0));
    add_word(&answer, "best", verdict.best);
    add_word(&answer, "worst", verdict.worst);
    add_word(&answer, "left_out", verdict.left_out);
    add_number(&answer, "not_noted", stats->program.not_noted);
    add_real(&answer, "holdout_percent", percent);
    add_flag(&answer, "is_settled", percent > 0 && percent < asked_percent);
    add_real(&answer, "suspended_s", health_suspended_s(&daemon->health));
    return answer;
}

json_t *answer_verdict(struct daemon *daemon, const struct request *request,
                       struct riptide_error *error)
{
    return verdict_json(daemon);
}

static json_t *apply_json(const struct daemon *daemon)
{
    const struct riptide_applier_stats *stats = riptide_agent_get_stats(daemon->agent)->applier;
    const struct counters counters = health_count(&daemon->health);
    const uint32_t asked = daemon->settings->applier.backend;
    json_t *effect = verdict_json(daemon), *answer = json_object();
    const double holdout_percent = real(effect, "holdout_percent");

    /* Where nothing is held out, no effect can be known. */
    if (effect && holdout_percent == 0) {
        json_decref(effect);
        effect = json_null();
    }
    add_word(&answer, "asked", riptide_name(RIPTIDE_NAMES_BACKEND, asked));
    add_word(&answer, "by", riptide_name(RIPTIDE_NAMES_BACKEND, stats->backend));
    add_member(&answer, "why", text_or_null(stats->why));
    add_member(&answer, "reason", text_or_null(stats->program_reason));
    add_real(&answer, "holdout_percent", holdout_percent);
    add_number(&answer, "held_out", stats->program.held_out);
    add_number(&answer, "not_noted", stats->program.not_noted);
    add_real(&answer, "suspended_s", health_suspended_s(&daemon->health));
    add_member(&answer, "effect", effect);
    add_member(&answer, "last_minute", minute_json(&daemon->health.minute, &counters));
    return answer;
}

static double seconds_since(uint64_t then_ns)
{
    return (double)(clock_read_ns(CLOCK_BOOTTIME) - then_ns) / 1e9;
}

static json_t *round_json(const struct health *health)
{
    const struct riptide_tick *tick = &health->tick;

    if (health->n_ticks == 0)
        return json_null();
    return json_pack("{s:I, s:f, s:f, s:I, s:f}", "number", (json_int_t)health->n_ticks, "ago_s",
                     seconds_since(tick->finished_ns), "late_ms", (double)health->late_ns / 1e6,
                     "connections", (json_int_t)tick->samples, "interval_s",
                     (double)tick->interval_ns / 1e9);
}

/* Windows: how many there are, and how many are missing. */
static void add_windows(json_t **answer, struct daemon *daemon)
{
    const struct riptide_agent_stats *stats = riptide_agent_get_stats(daemon->agent);
    const struct riptide_applier_stats *applier = stats->applier;

    health_find_routes(&daemon->health);
    add_flag(answer, "paused", stats->is_paused);
    add_number(answer, "hints", hints_count(daemon->agent));
    add_number(answer, "destinations", stats->estimator->destinations);
    add_number(answer, "max_destinations", daemon->settings->estimator.max_destinations);
    add_number(answer, "routes", applier->routes);
    add_number(answer, "left_alone", applier->left_alone);
    add_number(answer, "not_taken", applier->routes_not_taken);
    add_number(answer, "refused", daemon->health.routes[RIPTIDE_ROUTE_FAILED].n);
    add_real(answer, "in_force_percent", (double)applier->in_force_permille / 10);
}

json_t *answer_status(struct daemon *daemon, const struct request *request,
                      struct riptide_error *error)
{
    const struct settings *settings = daemon->settings;
    struct diagnosis diagnosis;
    json_t *answer = json_object();

    diagnosis_make(&daemon->health, &diagnosis);
    add_word(&answer, "health", diagnosis.word);
    add_member(&answer, "reason", text_or_null(diagnosis.reason.text));
    add_member(&answer, "do", text_or_null(diagnosis.remedy));
    add_flag(&answer, "is_by_rules", diagnosis.is_by_rules);
    add_member(&answer, "missed", figure_or_null(diagnosis.n_missed));
    add_member(&answer, "state_failure", text_or_null(daemon->files.state_failure));
    add_windows(&answer, daemon);
    add_member(&answer, "apply", apply_json(daemon));
    add_word(&answer, "version", riptide_version());
    add_number(&answer, "pid", (uint64_t)getpid());
    add_real(&answer, "uptime_s", seconds_since(daemon->health.started_ns));
    add_flag(&answer, "dry_run", settings->applier.dry_run);
    add_word(&answer, "policy", settings->estimator.policy->name);
    add_number(&answer, "cwnd_max", settings->estimator.cwnd_max);
    add_member(&answer, "round", round_json(&daemon->health));
    return answer;
}

json_t *answer_history(struct daemon *daemon, const struct request *request,
                       struct riptide_error *error)
{
    files_note_hour(&daemon->files);
    return json_pack("{s:O}", "hours", daemon->files.history.hours);
}

json_t *answer_metrics(struct daemon *daemon, const struct request *request,
                       struct riptide_error *error)
{
    char *text = metrics_text(&daemon->health, hints_count(daemon->agent));
    json_t *answer = NULL;

    if (text)
        answer = json_pack("{s:s}", "metrics", text);
    free(text);
    return answer;
}
