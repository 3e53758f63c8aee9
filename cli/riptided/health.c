/* SPDX-License-Identifier: MIT */
#include "health.h"

#include "clock.h"
#include "placed.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Connections that opened since the start, by how; by routes alone, those that closed. */
static struct riptide_program_counts count_opened(const struct health *health)
{
    const struct riptide_agent_stats *stats = riptide_agent_get_stats(health->agent);
    struct riptide_program_counts opened = stats->applier->program;

    if (riptide_backend_traits(stats->applier->backend) & RIPTIDE_COUNTS_OPENED)
        return opened;
    /* The kernel does not count what opens by a route: agents count those that close. */
    if (!health->settings->applier.dry_run)
        opened.given = stats->closed_with_window;
    opened.kept = stats->observer->closed - opened.given;
    return opened;
}

struct counters health_count(const struct health *health)
{
    const struct riptide_agent_stats *stats = riptide_agent_get_stats(health->agent);
    const struct riptide_program_counts opened = count_opened(health);
    struct counters counters = {
        .of[COUNTER_GIVEN] = opened.given,
        .of[COUNTER_HELD_OUT] = opened.held_out,
        .of[COUNTER_KEPT] = opened.kept,
        .of[COUNTER_NOT_NOTED] = opened.not_noted,
        .of[COUNTER_CLOSED_WITH_WINDOW] = stats->closed_with_window,
        .of[COUNTER_CLOSED_WITHOUT] = stats->closed_without,
        .of[COUNTER_SUSPENDED_S] = health->suspended_ns / NS_PER_S,
        .of[COUNTER_PAUSED_S] = health->paused_ns / NS_PER_S,
    };

    memcpy(&counters.of[COUNTER_BY_CWND], opened.by_cwnd, sizeof(opened.by_cwnd));
    return counters;
}

double health_suspended_s(const struct health *health)
{
    const uint64_t until_ns = riptide_agent_get_stats(health->agent)->suspended_until_ns;
    const uint64_t now_ns = clock_read_ns(CLOCK_BOOTTIME);

    if (until_ns <= now_ns)
        return 0;
    return (double)(until_ns - now_ns) / 1e9;
}

bool health_has_program(const struct health *health)
{
    const struct riptide_applier_stats *stats = riptide_agent_get_stats(health->agent)->applier;

    return riptide_backend_traits(stats->backend) & RIPTIDE_NEEDS_BPF && !stats->program_reason;
}

/*
 * When a round was due after another one: an interval after that began, or, as rounds that have no
 * time are left out, at the first end of an interval after it finished.
 */
static uint64_t find_due_ns(const struct riptide_tick *last)
{
    const uint64_t lasted_ns = last->finished_ns - last->started_ns;

    return last->started_ns + (lasted_ns / last->interval_ns + 1) * last->interval_ns;
}

/* What depends on the round before. */
static void note_interval(struct health *health, const struct riptide_tick *tick)
{
    const struct riptide_agent_stats *stats = riptide_agent_get_stats(health->agent);
    const uint64_t since_last_ns = tick->finished_ns - health->tick.finished_ns;
    const uint64_t due_ns = find_due_ns(&health->tick);

    health->late_ns = 0;
    if (tick->started_ns > due_ns)
        health->late_ns = tick->started_ns - due_ns;
    if (stats->is_paused)
        health->paused_ns += since_last_ns;
    if (stats->suspended_until_ns > 0)
        health->suspended_ns += since_last_ns;
    /* One that goes on from before the start is none of this process. */
    if (stats->suspended_until_ns > 0 && stats->suspended_until_ns != health->suspended_until_ns)
        health->suspensions++;
}

static void note_tick(struct health *health, const struct riptide_tick *tick)
{
    const struct riptide_agent_stats *stats = riptide_agent_get_stats(health->agent);
    const struct counters counters = health_count(health);

    /* A round whose dump failed ends as well: only one without a failure clears it. */
    if (!health->is_failure_new)
        health->failure[0] = '\0';
    health->is_failure_new = false;
    if (health->n_ticks > 0)
        note_interval(health, tick);
    if (health->n_ticks == 0) {
        health->open_at_start = tick->samples;
        health->destinations_at_start = stats->estimator->destinations;
    }
    health->tick = *tick;
    health->n_ticks++;
    health->suspended_until_ns = stats->suspended_until_ns;
    health->unplaced = stats->estimator->overflow - health->overflow;
    health->overflow = stats->estimator->overflow;
    minute_note(&health->minute, &counters, tick->finished_ns);
}

void health_note(struct health *health, const struct riptide_agent_event *event)
{
    health->knows_routes = false;
    if (event->kind == RIPTIDE_AGENT_TICK)
        note_tick(health, event->tick);
    if (event->kind == RIPTIDE_AGENT_WINDOW &&
        !(riptide_backend_traits(event->outcome->backend) & RIPTIDE_USES_RULES))
        health->program_error = event->outcome->error;
    if (event->kind == RIPTIDE_AGENT_FAILED) {
        snprintf(health->failure, sizeof(health->failure), "%s", event->reason);
        health->is_failure_new = true;
    }
}

const char *health_explain_full(const struct health *health, char reason[HEALTH_REASON_BYTES])
{
    const struct riptide_estimator_stats *stats = riptide_agent_get_stats(health->agent)->estimator;
    char largest[RIPTIDE_PREFIX_TEXT_BYTES];

    riptide_prefix_format(&stats->largest, largest);
    snprintf(reason, HEALTH_REASON_BYTES,
             "%s has %" PRIu32 " of --max-destinations %" PRIu32 ", %s", largest,
             stats->largest_destinations, health->settings->estimator.max_destinations,
             stats->is_full ? "as many as any network"
                            : "a sixteenth, as any /24 or /64 may: its others do not count");
    return reason;
}

static void note_route(struct health *health, const struct riptide_route *route)
{
    const struct riptide_applier_stats *stats = riptide_agent_get_stats(health->agent)->applier;
    struct health_routes *routes = &health->routes[route->state];

    /* Others are off with all of their family. */
    if (route->state == RIPTIDE_ROUTE_APPLIED && stats->routes_not_taken == 0)
        return;
    if (routes->n == 0 || route->reason_code == RIPTIDE_REASON_OTHER_TABLE)
        routes->example = *route;
    routes->n++;
}

void health_find_routes(struct health *health)
{
    const struct riptide_applier_stats *stats = riptide_agent_get_stats(health->agent)->applier;
    /* `failed` counts refusals since the start, and does not fall. */
    const uint64_t counts[] = { stats->routes_not_taken, stats->left_alone, stats->failed };
    const bool has_any = counts[0] + counts[1] + counts[2] > 0;
    const struct riptide_window *window;
    uint32_t cursor = 0;

    if (health->knows_routes && memcmp(health->counts, counts, sizeof(counts)) == 0)
        return;
    health->knows_routes = true;
    memcpy(health->counts, counts, sizeof(counts));
    health->without_program = 0;
    memset(health->routes, 0, sizeof(health->routes));
    if (!has_any && health->program_error == 0)
        return;
    while (riptide_agent_next(health->agent, &cursor, &window) == 0) {
        /* A destination that is off, or on a short path, lacks none. */
        health->without_program += !window->program && window->estimate->cwnd > 0;
        if (window->route && !placed_is_in_force(window->route))
            note_route(health, window->route);
    }
}
