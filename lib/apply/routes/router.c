/* SPDX-License-Identifier: MIT */
/*
 * A router: its start, for which a predecessor's rules go, and its end; the order of its work; its
 * row.
 */
#include "apply/routes/router.h"

#include "apply/opened.h"
#include "internal.h"
#include "prefix.h"

#include <errno.h>
#include <stdlib.h>

enum {
    /* Temporary errors in succession after which dispatch returns them to the caller. */
    MAX_SETBACKS = 8,
    /* Scans for a removal that changes interrupted, after which it ends, complete or not. */
    MAX_INTERRUPTED = 4,
    /* Notifications read in one dispatch: in a storm each arrives alone, with little work. */
    MAX_READ = 16,
};

/* Whether there is work that can be done now. */
static bool can_work(const struct router *router)
{
    return router->has_work && (router->is_claimed || router->config.dry_run) &&
           (router->scanning || router->budget > 0);
}

static void router_free(struct backend *backend)
{
    struct router *router = router_of(backend);

    if (!router)
        return;
    netlink_close(router->notifications);
    netlink_deinit(&router->channel);
    netlink_deinit(&router->dumps);
    plan_deinit(router);
    free(router);
}

static int router_new(struct backend **backendp, const struct riptide_applier_config *config,
                      struct riptide_error *error)
{
    struct router *router = calloc(1, sizeof(*router));
    int r;

    if (!router)
        return error_fill(error, -ENOMEM);
    plan_init(router, config);
    r = netlink_init(&router->channel);
    if (r == 0)
        r = netlink_init(&router->dumps);
    if (r == 0)
        r = notifications_open(router);
    if (r < 0) {
        router_free(&router->backend);
        return error_fill(error, r);
    }
    router->backend.row = &routes_row;
    router->backend.fd = mnl_socket_get_fd(router->notifications);
    *backendp = &router->backend;
    return 0;
}

static int scan(struct router *router, uint32_t parts)
{
    int r;

    router->scanning = 0;
    router->scan_wanted |= parts;
    do {
        r = scan_step(router);
        /* A rule that cannot be deleted does not keep the routes. */
        if (r < 0 && router->scanning) {
            router->removal_error = r;
            r = 0;
        }
    } while (r == 0 && router->scanning);
    return r;
}

/*
 * Scans, which counts all rules of ours, and routes that we do not know, and where the namespace is
 * claimed removes them: again until one finds no route, as the kernel may omit some while others
 * go, or change.
 */
static int remove_unknown(struct router *router, uint32_t parts)
{
    uint32_t n_before, n_interrupted = 0;
    int r;

    router->own[0].is_in_place = router->own[1].is_in_place = false;
    do {
        n_before = router->removed.routes;
        router->removal_error = 0;
        r = scan(router, parts);
        n_interrupted += router->is_interrupted;
    } while (r == 0 && router->is_claimed &&
             (router->removed.routes > n_before ||
              (router->is_interrupted && n_interrupted < MAX_INTERRUPTED)));
    return r < 0 ? r : router->removal_error;
}

static void say_removed(const struct router *router, const char *what, struct riptide_error *error)
{
    error_set(error, "%srules %u, routes %u", what, router->removed.rules, router->removed.routes);
}

/*
 * Removes what a killed router has left; with rules it refuses to start where another program uses
 * our table, and puts the rules in place. Without rules that use does not matter. A dry run only
 * refuses. After an error, which has a line, no rule of ours remains.
 */
static int start(struct router *router, bool has_rules, struct riptide_error *error)
{
    uint32_t parts = has_rules ? SCAN_ALL : SCAN_RULES | SCAN_ROUTES;
    /* Changes since the scan of the start wait as events. */
    int r = has_rules ? notifications_subscribe(router, true) : 0;

    router->now_ns = read_clock(CLOCK_BOOTTIME);
    router->is_claimed = !router->config.dry_run;
    /* A predecessor's also where a conflict prevents the start: they lead TCP to old routes. */
    if (r == 0)
        r = remove_unknown(router, parts);
    if (r == 0 && has_rules)
        r = plan_check_place(router, error);
    if (r == 0 && has_rules && router->is_claimed && !router->backend.paused)
        r = sync_rules(router, error);
    if (r < 0 && router->is_claimed)
        remove_unknown(router, SCAN_RULES);
    router->is_claimed &= r == 0 && has_rules;
    if (r < 0) {
        notifications_subscribe(router, false);
        return error_fill(error, r);
    }
    router->budget = BUDGET_MAX; /* whatever the scan of the start has cost */
    error_set(error, "%s", "");
    if (!router->config.dry_run && router->removed.rules + router->removed.routes > 0)
        say_removed(router, "removed what one that was killed had left: ", error);
    return 0;
}

static int router_start(struct backend *backend, struct riptide_error *error)
{
    return start(router_of(backend), true, error);
}

static int router_clean(struct backend *backend, struct riptide_error *error)
{
    return start(router_of(backend), false, error);
}

/* The rules are removed already, as it is paused: those that remain, all routes, all destinations. */
static int router_stop(struct backend *backend)
{
    struct router *router = router_of(backend);
    int r = 0;

    if (router->is_claimed) {
        targets_deinit(&router->targets);
        r = remove_unknown(router, SCAN_RULES | SCAN_ROUTES);
        router->is_claimed = false;
    }
    notifications_subscribe(router, false);
    router->has_work = false;
    return r;
}

int router_flush(struct router *router, struct riptide_error *error)
{
    const struct rule none = { .family = AF_INET, .table = router->config.table };
    const bool is_dry = router->config.dry_run;
    int r;

    router->is_claimed = !is_dry;
    r = remove_unknown(router, SCAN_RULES | SCAN_ROUTES);
    /* Where nothing was there to be removed, the kernel has not said yet whether we may. */
    if (r == 0 && !is_dry &&
        netlink_request(&router->channel,
                        message_rule(netlink_room(&router->channel), RTM_DELRULE, &none),
                        NULL) == -EPERM)
        r = -EPERM;
    if (r == 0 && (!is_dry || router->removed.rules + router->removed.routes > 0))
        say_removed(router, is_dry ? "" : "removed: ", error);
    return r;
}

void router_annotate(const struct router *router, struct riptide_sample *sample, uint64_t now_ns)
{
    const struct target *target = targets_find(&router->targets, &sample->dst);
    const struct rule_state *rule = &router->own[family_index(sample->dst.family)];

    if (!target || target->kernel != KERNEL_CURRENT || target->is_not_taken || !rule->is_in_place ||
        router->config.dry_run)
        return;
    opened_by_route(sample, target->written.initcwnd,
                    rule->since_ns > target->written_ns ? rule->since_ns : target->written_ns,
                    now_ns);
}

/* Whether rules lead to all routes. */
static bool router_is_in_force(const struct backend *backend)
{
    const struct router *router = router_of(backend);

    for (int i = 0; i < 2; i++) {
        if (router->targets.n_in_kernel[i] > 0 && !router->own[i].is_in_place)
            return false;
    }
    return router->is_claimed && !backend->paused;
}

/*
 * A rule that must be removed is removed before the next notification is read. Returns 1 where
 * there may be more of them.
 */
static int read_notifications(struct router *router)
{
    int removed, r = 1;

    for (int n = 0; r > 0 && n < MAX_READ; n++) {
        r = notifications_read(router);
        removed = sync_remove(router);
        r = removed < 0 ? removed : r;
    }
    return r;
}

/*
 * The order of the work, of which a dispatch does one piece: read what has happened, and remove the
 * rules of what that concerns; scan; ask the kernel and write our routes; restore the rules.
 * Returns 1 where there may be more to read.
 */
static int work(struct router *router)
{
    int r = read_notifications(router);

    if (r != 0 || !can_work(router))
        return r;
    if (router->scanning || router->scan_wanted) {
        r = scan_step(router);
    } else if (router->targets.n_due[WORK_SYNC] > 0) {
        r = sync_targets(router);
    } else {
        if (router->is_claimed && !router->backend.paused)
            r = sync_rules(router, NULL);
        router->has_work = r != 0;
    }
    return r < 0 ? r : sync_remove(router);
}

static int router_dispatch(struct backend *backend)
{
    struct router *router = router_of(backend);
    int r;

    router->now_ns = read_clock(CLOCK_BOOTTIME);
    r = work(router);
    if (r >= 0) {
        router->n_setbacks = 0;
    } else if (is_transient(r) && router->n_setbacks++ < MAX_SETBACKS) {
        /* Answers were lost: the next scan finds out what the batch did. */
        router->stats.overruns++;
        plan_resync(router);
        r = sync_remove(router);
        /* It stays due: then the next dispatch is another setback. */
        r = is_transient(r) ? 0 : r;
    }
    if (r < 0)
        return r;
    return r > 0 || can_work(router) ? RIPTIDE_E_MORE : 0;
}

/* Removes the rules until the end of the pause. */
static int router_set_paused(struct backend *backend)
{
    struct router *router = router_of(backend);

    if (backend->paused) {
        plan_remove_rules(router);
        return sync_remove(router);
    }
    router->has_work |= router->is_claimed;
    return 0;
}

static int router_set(struct backend *backend, const struct riptide_wanted *wanted)
{
    return plan_want(router_of(backend), wanted);
}

static void router_tick(struct backend *backend, uint32_t n_seconds)
{
    plan_tick(router_of(backend), n_seconds);
}

static int router_pop(struct backend *backend, struct riptide_route *route)
{
    struct targets *targets = &router_of(backend)->targets;
    struct target *target = targets_take(targets, WORK_POP);

    if (!target)
        return RIPTIDE_E_AGAIN;
    target_show(target, route);
    targets_forget_if_done(targets, target);
    return 0;
}

static int router_find(const struct backend *backend, const struct riptide_prefix *dst,
                       struct riptide_route *route)
{
    const struct target *target = targets_find(&router_of(backend)->targets, dst);

    if (!target)
        return RIPTIDE_E_UNKNOWN;
    target_show(target, route);
    return 0;
}

static void router_give_stats(const struct backend *backend, struct riptide_applier_stats *stats)
{
    const struct router *router = router_of(backend);
    const struct targets *targets = &router->targets;

    for (int i = 0; i < 2; i++) {
        const struct rule_state *rule = &router->own[i];
        enum riptide_reason code = RIPTIDE_REASON_NONE;

        /* During a pause a rule is still in place if its removal has failed. */
        if (!backend_is_in_use(backend))
            code = RIPTIDE_REASON_OTHER_BACKEND;
        else if (!rule->is_in_place)
            code = backend->paused ? backend->paused : rule->reason;
        stats->rules_reason_code[i] = code;
        stats->rules_reason[i] = code == backend->paused ? backend->paused_text : reason_text(code);
    }
    if (backend_is_in_use(backend))
        stats->is_idle &= !router->has_work;
    stats->routes = targets->n_in_kernel[0] + targets->n_in_kernel[1];
    stats->routes_not_taken = targets->n_not_taken;
    stats->left_alone = targets->n_left_alone;
    stats->written = router->stats.written;
    stats->failed = router->stats.failed;
    stats->overruns = router->stats.overruns;
    stats->rule_removals = router->stats.rule_removals;
    stats->malformed =
        router->stats.malformed + router->channel.malformed + router->dumps.malformed;
}

const struct backend_row routes_row = {
    .bit = RIPTIDE_ROUTES,
    .traits = RIPTIDE_REACHES_KERNEL | RIPTIDE_USES_RULES,
    .new = router_new,
    .free = router_free,
    .start = router_start,
    .clean = router_clean,
    .stop = router_stop,
    .set_paused = router_set_paused,
    .set = router_set,
    .tick = router_tick,
    .dispatch = router_dispatch,
    .pop = router_pop,
    .find = router_find,
    .is_in_force = router_is_in_force,
    .give_stats = router_give_stats,
};
