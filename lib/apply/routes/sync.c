/* SPDX-License-Identifier: MIT */
/* Asks for base routes, brings routes and rules to what is wanted, and notes what that did. */
#include "apply/routes/router.h"

#include "prefix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Destinations are queried as they are without us (routing.h) and, if this host has rules with
 * conditions, also as TCP: if our rule is in place and that answer is not our route, another rule
 * decides before ours.
 */
struct resolve {
    struct router *router;
    struct target **targets;
    uint32_t n_queries; /* for each of them */
};

/* NULL stands for an answer that was too large. */
static void take_base(struct router *router, struct target *target, const struct nlmsghdr *answer)
{
    const bool has_rules = router->seen[family_index(target->wanted.dst.family)].n > 0;
    struct route base;
    enum riptide_reason reason = RIPTIDE_REASON_QUERY_MALFORMED;

    target->ask = ASK_NOT;
    target->error = 0;
    if (answer)
        reason = base_parse(&base, &target->wanted.dst, answer);
    if (reason == RIPTIDE_REASON_QUERY_MALFORMED)
        router->stats.malformed++;
    /* Such a kernel would write a route of any table to main. */
    if (!reason && !has_rules)
        reason = RIPTIDE_REASON_NO_POLICY_ROUTING;
    if (reason) {
        targets_set_no_base(&router->targets, target, reason);
        if (reason == RIPTIDE_REASON_QUERY_REFUSED)
            targets_ask(&router->targets, target, ASK_AT_TICK);
        return;
    }
    routing_take_mtu(&router->routing, &base);
    if (targets_set_base(&router->targets, target, &base) < 0)
        targets_ask(&router->targets, target, ASK_AT_TICK);
}

/* Behind the answer about the base route. */
static void take_tcp(struct router *router, struct target *target, const struct nlmsghdr *answer)
{
    const struct rule_state *rule = &router->own[family_index(target->wanted.dst.family)];
    const bool has_route = target->kernel != KERNEL_ABSENT;
    const bool route_will_come =
        target_plan(target).is_put && target->reported.state != RIPTIDE_ROUTE_FAILED;
    const bool rule_will_come = !rule->reason && router->is_claimed && !router->backend.paused;
    struct route route = { .table = 0 };

    if (answer->nlmsg_type == RTM_NEWROUTE && route_parse(&route, answer) < 0)
        router->stats.malformed++;
    if (rule->is_in_place && has_route)
        targets_set_not_taken(&router->targets, target, route.table != router->config.table);
    /* Before the rule and the route are there nothing is known. */
    else if ((route_will_come || has_route) && rule_will_come)
        targets_ask(&router->targets, target, ASK_AT_TICK);
}

static void on_answer(void *userdata, uint32_t n, const struct nlmsghdr *answer)
{
    struct resolve *resolve = userdata;
    struct target *target = resolve->targets[n / resolve->n_queries];

    /* The acknowledgement at the end of the batch is not an answer to a query. */
    if (answer->nlmsg_type == NLMSG_ERROR && resolve->router->channel.error == 0)
        return;
    if (n % resolve->n_queries > 0)
        take_tcp(resolve->router, target, answer);
    else
        take_base(resolve->router, target, answer);
}

int sync_resolve(struct router *router, struct target **targets, uint32_t n)
{
    bool has_conditional = router->seen[0].has_conditional || router->seen[1].has_conditional;
    struct resolve resolve = { router, targets, has_conditional ? 2 : 1 };
    int r;

    for (uint32_t k = 0; k < n * resolve.n_queries; k++)
        netlink_add(&router->channel,
                    message_route_query(netlink_room(&router->channel),
                                        &targets[k / resolve.n_queries]->wanted.dst,
                                        k % resolve.n_queries > 0));
    r = netlink_exchange(&router->channel, on_answer, &resolve);
    for (uint32_t i = 0; i < n && r == 0; i++) {
        /* Its answer was lost. */
        if (targets[i]->ask == ASK_NOW)
            take_base(router, targets[i], NULL);
        if (!has_conditional)
            targets_set_not_taken(&router->targets, targets[i], false);
    }
    return r;
}

/* One request of a batch of routes. */
struct request {
    struct target *target;
    bool is_put;
};

struct writes {
    struct router *router;
    struct request list[BATCH_MAX_REQUESTS];
    uint32_t n;
};

static void add(struct writes *writes, struct target *target, struct nlmsghdr *message)
{
    writes->list[writes->n++] = (struct request){ target, message->nlmsg_type == RTM_NEWROUTE };
    if (writes->router->config.dry_run)
        return;
    netlink_add(&writes->router->channel, message);
    writes->router->stats.written++;
}

/* Adds what is due to a target, which is then as if the kernel had done it. */
static void write_target(struct writes *writes, struct target *target)
{
    struct router *router = writes->router;
    struct targets *targets = &router->targets;
    void *room;
    const struct target_plan plan = target_plan(target);
    const struct own_metrics *metrics = &plan.decision.own;
    const struct route own = { .dst = target->wanted.dst,
                               .table = router->config.table,
                               .protocol = OUR_PROTOCOL };
    const bool has_same_window = target->kernel != KERNEL_ABSENT && plan.is_put &&
                                 target->written.initcwnd == metrics->initcwnd;
    struct nlmsghdr *put;

    /* It could overwrite a foreign route. */
    if (plan.is_put && router->routing.has_foreign[family_index(own.dst.family)]) {
        targets_ask(targets, target, ASK_AT_TICK);
        return;
    }
    if (plan.is_delete) {
        room = netlink_room(&router->channel);
        add(writes, target, message_route_delete(room, &own));
        targets_set_kernel(targets, target, KERNEL_ABSENT);
        if (target->wanted.initcwnd == 0)
            target->error = 0;
    }
    if (plan.is_put) {
        room = netlink_room(&router->channel);
        put = message_route_put(room, &own, &target->base->route, metrics);
        /* One that is not ours is there if it came since the last event: it is not replaced. */
        if (target->kernel == KERNEL_ABSENT)
            put->nlmsg_flags ^= NLM_F_REPLACE | NLM_F_EXCL;
        add(writes, target, put);
        targets_set_kernel(targets, target, KERNEL_CURRENT);
        target->written = *metrics;
        if (!has_same_window)
            target->written_ns = router->now_ns;
    }
}

static void on_written(void *userdata, uint32_t n, const struct nlmsghdr *answer)
{
    struct writes *writes = userdata;
    struct targets *targets = &writes->router->targets;
    const char *text = writes->router->channel.text;
    int error = writes->router->channel.error;
    struct target *target = writes->list[n].target;
    bool is_put = writes->list[n].is_put;

    (void)answer;
    /* A route that is gone already counts as deleted. */
    if (!error || (!is_put && error == -ESRCH))
        return;
    writes->router->stats.failed++;
    target->error = error;
    free(target->error_text);
    target->error_text = strdup(text[0] ? text : strerror(-error));
    /* Tried again in a second; if that fails as well, after a change, or in its turn. */
    if (target->reported.state != RIPTIDE_ROUTE_FAILED)
        targets_ask(targets, target, ASK_AT_TICK);
    /* The kernel may have any route of ours to it, or none. */
    targets_set_kernel(targets, target, KERNEL_STALE);
    /* An old route may lead elsewhere by now: it is deleted. None is better than a wrong one. */
    if (is_put)
        targets_push(targets, WORK_SYNC, target);
}

/* Targets that were due, and those of them whose base routes are asked. */
struct batch {
    struct target *targets[BATCH_MAX_TARGETS], *asked[BATCH_MAX_TARGETS];
    uint32_t n, n_asked;
};

static void take_batch(struct router *router, struct batch *batch)
{
    struct target *target;

    while (batch->n < BATCH_MAX_TARGETS &&
           (target = targets_take(&router->targets, WORK_SYNC)) != NULL) {
        batch->targets[batch->n++] = target;
        /* What is not wanted needs no base route to be deleted. */
        if (target->wanted.initcwnd == 0)
            target->ask = ASK_NOT;
        else if (target->ask == ASK_NOW)
            batch->asked[batch->n_asked++] = target;
    }
}

static int write_batch(struct router *router, const struct batch *batch)
{
    struct writes writes = { .router = router };
    int r;

    for (uint32_t i = 0; i < batch->n; i++)
        write_target(&writes, batch->targets[i]);
    r = netlink_exchange(&router->channel, on_written, &writes);
    /* Without answers nobody knows how far the kernel came. */
    for (uint32_t i = 0; i < writes.n && r < 0; i++)
        targets_set_kernel(&router->targets, writes.list[i].target, KERNEL_STALE);
    return r;
}

int sync_targets(struct router *router)
{
    struct targets *targets = &router->targets;
    struct batch batch = { .n = 0 };
    int r;

    /* From here on each event concerns all targets anew. */
    router->all_changed[0] = router->all_changed[1] = CHANGE_NONE;
    take_batch(router, &batch);
    r = sync_resolve(router, batch.asked, batch.n_asked);
    if (r == 0)
        r = write_batch(router, &batch);
    for (uint32_t i = 0; i < batch.n; i++) {
        if (r < 0) {
            targets_push(targets, WORK_SYNC, batch.targets[i]);
        } else {
            targets_report(targets, batch.targets[i]);
            targets_forget_if_done(targets, batch.targets[i]);
        }
    }
    return r;
}

static int send_rule(struct router *router, uint16_t type, const struct rule *rule,
                     struct riptide_error *error)
{
    /* A missing rule counts as deleted, one that is there as added. */
    const int done_before = type == RTM_DELRULE ? -ENOENT : -EEXIST;
    int r;

    if (!router->is_claimed)
        return 0;
    r = netlink_request(&router->channel, message_rule(netlink_room(&router->channel), type, rule),
                        error);
    return r == done_before ? 0 : r;
}

/* A rule that could not be deleted is still in place, and does not count as removed. */
static int remove_rule(struct router *router, int i)
{
    struct rule_state *state = &router->own[i];
    int r = 0;

    if (state->is_in_place) {
        r = send_rule(router, RTM_DELRULE, &state->rule, NULL);
        if (r < 0)
            return r;
        state->is_in_place = false;
        router->stats.rule_removals++;
        router->budget -= COST_REMOVAL;
    }
    state->must_remove = false;
    return 0;
}

int sync_remove(struct router *router)
{
    int first = 0;

    for (int i = 0; i < 2; i++) {
        int r = router->own[i].must_remove ? remove_rule(router, i) : 0;

        if (first == 0)
            first = r;
    }
    return first;
}

int sync_check_rules(struct router *router, int i)
{
    const struct rules *rules = &router->seen[i];
    int first = 0;

    if (router->own[i].is_in_place && rules_has_ours_in_place(rules, router->config.table))
        return 0;
    for (uint32_t n = 0; n < rules->n; n++) {
        const struct rule *rule = &rules->list[n];
        int r = rule->is_ours ? send_rule(router, RTM_DELRULE, rule, NULL) : 0;

        if (first == 0)
            first = r;
        if (!rule->is_ours || r != 0)
            continue;
        if (router->removed.rules == 0)
            router->removed.table = rule->table;
        router->removed.rules++;
    }
    /* One that could not be deleted may be the one in its place. */
    if (first == 0)
        router->own[i].is_in_place = false;
    return first;
}

static int place_rule(struct router *router, int i, struct riptide_error *error)
{
    struct rule_state *state = &router->own[i];
    int r;

    /* No rules at all: this kernel lacks the family. */
    if (router->seen[i].n == 0)
        return 0;
    state->reason = routing_reason(&router->routing, i);
    if (state->reason)
        return remove_rule(router, i);
    if (state->is_in_place)
        return 0;
    state->reason = rules_place(&router->seen[i], &state->rule.priority);
    if (state->reason)
        return 0;
    r = send_rule(router, RTM_NEWRULE, &state->rule, error);
    state->is_in_place = r == 0;
    state->since_ns = router->now_ns;
    return r;
}

int sync_rules(struct router *router, struct riptide_error *error)
{
    int r = place_rule(router, 0, error);

    if (r == 0)
        r = place_rule(router, 1, error);
    return r;
}
