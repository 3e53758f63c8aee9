/* SPDX-License-Identifier: MIT */
/* How the daemon is: what it keeps of events, and the word for it. */
#include "daemon.h"

#include "kernel.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

/* Destinations of which the kernel is asked which rule comes before ours: in a millisecond. */
enum { MAX_ASKED = 64 };

struct riptide_program_counts health_count_opened(const struct daemon *daemon)
{
    const struct riptide_agent_stats *stats = riptide_agent_get_stats(daemon->agent);
    struct riptide_program_counts opened = stats->applier->program;

    /* The kernel does not count what opens by a route: agents count those that close. */
    if (!(stats->applier->backend & RIPTIDE_PROGRAM)) {
        if (!daemon->settings->applier.dry_run)
            opened.given = stats->closed_with_window;
        opened.kept = stats->observer->closed - opened.given;
    }
    return opened;
}

double health_suspended_s(const struct daemon *daemon)
{
    uint64_t until_ns = riptide_agent_get_stats(daemon->agent)->suspended_until_ns;
    uint64_t now_ns = clock_read_ns(CLOCK_BOOTTIME);

    return until_ns > now_ns ? (double)(until_ns - now_ns) / 1e9 : 0;
}

static void note_tick(struct daemon *daemon, const struct riptide_tick *tick)
{
    const struct riptide_agent_stats *stats = riptide_agent_get_stats(daemon->agent);
    const uint64_t until_ns = stats->suspended_until_ns, overflow = stats->estimator->overflow;
    const struct riptide_program_counts opened = health_count_opened(daemon);
    struct health *health = &daemon->health;
    const struct riptide_tick *last = &health->tick;
    uint64_t due_ns;

    /* A round whose dump failed ends as well: only one without a failure clears it. */
    if (!health->is_failure_new)
        health->failure[0] = '\0';
    health->is_failure_new = false;
    /* A round begins an interval after the one before, unless that lasts: it is left out then. */
    if (health->n_ticks > 0) {
        due_ns = last->finished_ns - (last->finished_ns - last->started_ns) % last->interval_ns +
                 last->interval_ns;
        health->late_ns = tick->started_ns > due_ns ? tick->started_ns - due_ns : 0;
    }
    health->tick = *tick;
    health->n_ticks++;
    /* One that goes on from before the start is none of this process. */
    health->suspensions +=
        until_ns > 0 && until_ns != health->suspended_until_ns && health->n_ticks > 1;
    health->suspended_until_ns = until_ns;
    health->unplaced = overflow - health->overflow;
    health->overflow = overflow;
    minute_note(&health->minute, &opened, tick->finished_ns);
    /* `riptide status` reads from it when the last round of a daemon was that hangs. */
    if (daemon->control)
        utimensat(AT_FDCWD, daemon->settings->control, NULL, AT_SYMLINK_NOFOLLOW);
}

void health_note(struct daemon *daemon, const struct riptide_agent_event *event)
{
    struct health *health = &daemon->health;

    if (event->kind == RIPTIDE_AGENT_TICK)
        note_tick(daemon, event->tick);
    if (event->kind == RIPTIDE_AGENT_WINDOW) {
        changes_note(&daemon->changes, event->outcome, time(NULL));
        if (event->outcome->backend == RIPTIDE_PROGRAM)
            health->program_error = event->outcome->error;
    }
    if (event->kind == RIPTIDE_AGENT_FAILED) {
        snprintf(health->failure, sizeof(health->failure), "%s", event->reason);
        health->is_failure_new = true;
    }
}

const char *health_explain_full(const struct daemon *daemon, char reason[256])
{
    const struct riptide_estimator_stats *stats = riptide_agent_get_stats(daemon->agent)->estimator;
    char unplaced[96] = "", largest[RIPTIDE_PREFIX_TEXT_BYTES] = "each of many networks";

    if (stats->largest_destinations > 1)
        riptide_prefix_format(&stats->largest, largest);
    if (!stats->is_full)
        snprintf(unplaced, sizeof(unplaced),
                 "connections that do not count: %" PRIu64
                 ", as a /24 or /64 has at most a sixteenth; ",
                 daemon->health.unplaced);
    snprintf(reason, 256, "%s%s has %" PRIu32 " of --max-destinations %" PRIu32, unplaced, largest,
             stats->largest_destinations, daemon->settings->estimator.max_destinations);
    return reason;
}

/*
 * Why destinations have no route: the kernel refuses it (RIPTIDE_ROUTE_FAILED), or it is not copied
 * (RIPTIDE_ROUTE_LEFT_ALONE). Returns how many; `first` is one of them, for a rule if there is one.
 */
static uint64_t explain_missing(const struct daemon *daemon, enum riptide_route_state state,
                                struct riptide_route *first, char reason[256])
{
    const struct riptide_applier_stats *stats = riptide_agent_get_stats(daemon->agent)->applier;
    const bool is_failed = state == RIPTIDE_ROUTE_FAILED;
    const struct riptide_window *window;
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];
    uint32_t cursor = 0;
    uint64_t n = 0;

    *first = (struct riptide_route){ .error = 0 };
    while ((is_failed ? stats->failed : stats->left_alone) > 0 &&
           riptide_agent_next(daemon->agent, &cursor, &window) == 0) {
        if (window->route && window->route->state == state &&
            (n++ == 0 || strcmp(window->route->reason, REASON_OF_RULES) == 0))
            *first = *window->route;
    }
    riptide_prefix_format(&first->dst, dst);
    snprintf(reason, 256, "%s %" PRIu64 " of %" PRIu64 " routes, as to %s: %s",
             is_failed ? "the kernel refuses" : "riptided does not copy", n, stats->routes + n, dst,
             first->reason);
    return n;
}

/* Returns how many windows the program lacks since the kernel has refused the last one to it. */
static uint64_t explain_lacking(const struct daemon *daemon, char reason[256])
{
    const int error = daemon->health.program_error;
    const struct riptide_window *window;
    uint64_t n = 0, n_all = 0;
    uint32_t cursor = 0;

    while (error && riptide_agent_next(daemon->agent, &cursor, &window) == 0) {
        n_all++;
        n += !window->program;
    }
    snprintf(reason, 256,
             "the kernel refuses %" PRIu64 " of %" PRIu64 " windows to the program: %s", n, n_all,
             strerror(-error));
    return n;
}

/* Adds the rules of others that lead to the table (0: to any), and more text. */
static void add_rules(char reason[256], uint32_t table, const char *more)
{
    const size_t n = strlen(reason);
    char before[KERNEL_RULES_BYTES];

    kernel_read_rules(0, table, before);
    snprintf(reason + n, 256 - n, "%s%s%s%s", *before ? "; before ours: " : "", before,
             *more ? "; " : "", more);
}

/* Routes and rules are read only where there is something to explain. */
static void explain_not_taken(const struct daemon *daemon, char reason[256])
{
    const struct riptide_applier_stats *stats = riptide_agent_get_stats(daemon->agent)->applier;
    const struct riptide_window *window;
    struct kernel_route route;
    /* The table from which the kernel answers where it does not take our route; 0: not known. */
    uint32_t table = 0, cursor = 0;

    reason[0] = '\0';
    if (stats->routes_not_taken == 0)
        return;
    for (int i = 0; i < MAX_ASKED && table == 0; i++) {
        if (riptide_agent_next(daemon->agent, &cursor, &window) != 0)
            break;
        if (!window->route || window->route->state != RIPTIDE_ROUTE_APPLIED)
            continue;
        kernel_find_route(&window->dst, &route);
        if (!route.error && !route.is_ours)
            table = route.table;
    }
    snprintf(reason, 256, "TCP does not use %" PRIu64 " of %" PRIu64 " routes",
             stats->routes_not_taken, stats->routes);
    add_rules(reason, table, "");
}

void health_diagnose(const struct daemon *daemon, struct diagnosis *found)
{
    static const char cause[] = "remove that cause: riptided then gives windows again by itself";
    static const char *const copies[] = {
        "mend the route that they copy (ip route get), or set apply = program, which needs none",
        "its gateway is on no link: add a route to the gateway, or `onlink`; tried again within a "
        "minute",
    };
    const struct riptide_agent_stats *agent = riptide_agent_get_stats(daemon->agent);
    const struct riptide_applier_stats *stats = agent->applier;
    const bool has_program = (stats->backend & RIPTIDE_PROGRAM) && !stats->program_reason;
    const char *const no_rules = stats->rules_reason[stats->rules_reason[0] ? 0 : 1];
    const char *const missing = has_program ? no_rules : stats->program_reason;
    /* Why connections of IPv4 and IPv6 get no window; NULL: they get one. */
    const char *why[2] = { NULL, NULL };
    char family[256], refused[256], alone[256], taken[256], full[256], only[256], lacking[256];
    const bool has_lost = stats->routes_not_taken == stats->routes;
    bool is_off, is_by_rule, is_alone;
    struct kernel_route to;
    struct riptide_route first;
    const char *copy;
    size_t i = 0;

    for (int k = 0; k < 2 && !has_program; k++)
        why[k] = stats->backend & RIPTIDE_ROUTES ? stats->rules_reason[k] : stats->program_reason;
    is_off = why[0] && why[1];
    found->n_refused = explain_missing(daemon, RIPTIDE_ROUTE_FAILED, &first, refused);
    copy = copies[strstr(refused, "invalid gateway") != NULL];
    explain_not_taken(daemon, taken);
    /* One whose owner has tuned its own route starts with that window. */
    is_alone = !has_program &&
               explain_missing(daemon, RIPTIDE_ROUTE_LEFT_ALONE, &first, alone) > 0 &&
               stats->routes == 0 && first.base_initcwnd == 0;
    is_by_rule = strcmp(first.reason, REASON_OF_RULES) == 0 && !has_program;
    if (is_by_rule) {
        kernel_find_route(&first.dst, &to);
        add_rules(alone, to.error ? 0 : to.table, taken);
    }
    health_explain_full(daemon, full);
    snprintf(family, sizeof(family), "IPv%c: %s", why[0] ? '4' : '6', no_rules ? no_rules : "");
    snprintf(only, sizeof(only), "windows are given %s only: %s",
             has_program ? "by the program" : "by routes", missing ? missing : "");

    /* The first that holds, from what stops all windows to what stops none. */
    const struct {
        bool holds;
        const char *word, *remedy, *reason;
    } cases[] = {
        { daemon->health.failure[0], "failing",
          "systemctl restart riptided, if it does not end by itself", daemon->health.failure },
        { agent->is_paused, "paused", "riptide resume", "" },
        { is_off && health_suspended_s(daemon) > 0, "suspended",
          "wait, or set holdout-percent = 0; a smaller cwnd-max may help the next time", why[0] },
        { is_off, "off", cause, why[0] },
        { why[0] || why[1], "degraded", cause, family },
        { found->n_refused > 0, stats->routes == 0 && !has_program ? "off" : "degraded", copy,
          refused },
        { is_by_rule || (*taken && !has_program), has_lost ? "off" : "degraded", REMEDY_OF_RULES,
          is_by_rule ? alone : taken },
        { is_alone, "off", copies[0], alone },
        { explain_lacking(daemon, lacking) > 0, "degraded", cause, lacking },
        { daemon->health.n_ticks == 0, "starting", NULL, "" },
        { agent->estimator->is_full || daemon->health.unplaced > 0,
          agent->estimator->is_full ? "full" : "ok", "a larger max-destinations", full },
        { *taken, "ok", NULL, taken },
        { stats->backend == RIPTIDE_BOTH && missing, "ok", NULL, only },
        { true, "ok", NULL, "" },
    };

    while (!cases[i].holds)
        i++;
    found->word = cases[i].word;
    found->remedy = cases[i].remedy;
    snprintf(found->reason, sizeof(found->reason), "%s", cases[i].reason);
}
