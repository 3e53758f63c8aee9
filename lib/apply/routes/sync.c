/* SPDX-License-Identifier: MIT */
/* Asks for base routes, brings routes and rules to what the plan says, and notes what that did. */
#include "router.h"

#include "prefix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Destinations are queried as they are without us (rule.h) and, if this host has rules with
 * conditions, also as TCP: if our rule is in place and that answer is not our route, another rule
 * decides before ours.
 */
struct resolve {
    struct plan *plan;
    struct target **targets;
    uint32_t n_queries;  /* for each of them */
    uint32_t n_answered; /* or lost: answers arrive in the order of the queries */
};

/* NULL stands for an answer that was too large. */
static void take_base(struct plan *plan, struct target *target, const struct nlmsghdr *answer,
                      int error)
{
    struct route base;
    const char *reason = answer ? base_parse(&base, &target->wanted.dst, answer) : base_malformed;

    plan->stats.malformed += reason == base_malformed;
    target->is_failed = error && !base_is_answer(error);
    if (target_set_base(target, &base, reason) &&
        routing_use_link(&plan->routing, target->base.ifindex) < 0)
        target->is_failed = true;
    target->must_ask = false;
    target->error = 0;
}

static void take_tcp(struct plan *plan, struct target *target, const struct nlmsghdr *answer)
{
    struct route route = { .table = 0 };

    if (answer && answer->nlmsg_type == RTM_NEWROUTE && route_parse(&route, answer) < 0)
        plan->stats.malformed++;
    if (plan->own[family_index(target->wanted.dst.family)].is_in_place)
        targets_set_not_taken(&plan->targets, target,
                              target->is_in_kernel && route.table != plan->config.table);
}

static void take(struct resolve *resolve, const struct nlmsghdr *answer, int error)
{
    uint32_t n = resolve->n_answered++;
    struct target *target = resolve->targets[n / resolve->n_queries];

    if (n % resolve->n_queries > 0)
        take_tcp(resolve->plan, target, answer);
    else
        take_base(resolve->plan, target, answer, error);
    if (resolve->n_queries == 1)
        targets_set_not_taken(&resolve->plan->targets, target, false);
}

static void on_answer(void *userdata, uint32_t n, const struct nlmsghdr *answer, int error,
                      const char *text)
{
    struct resolve *resolve = userdata;
    /* The acknowledgement at the end of the batch is not an answer to a query. */
    bool is_end = answer->nlmsg_type == NLMSG_ERROR && error == 0;

    (void)text;
    /* Answers that were too large do not affect other destinations. */
    while (resolve->n_answered < n + is_end)
        take(resolve, NULL, 0);
    if (!is_end && resolve->n_answered == n)
        take(resolve, answer, error);
}

int sync_resolve(struct plan *plan, struct netlink *channel, struct target **targets, uint32_t n)
{
    struct resolve resolve = { .plan = plan, .targets = targets, .n_queries = 1 };

    if (plan->seen[0].has_conditional || plan->seen[1].has_conditional)
        resolve.n_queries = 2;
    for (uint32_t k = 0; k < n * resolve.n_queries; k++)
        netlink_add(channel, message_route_query(netlink_room(channel),
                                                 &targets[k / resolve.n_queries]->wanted.dst,
                                                 k % resolve.n_queries > 0));
    return netlink_exchange(channel, on_answer, &resolve);
}

/* One request of a batch of routes. */
struct write {
    struct target *target;
    int error;
    bool is_put;
    struct own_metrics own;
};

struct writes {
    struct plan *plan;
    struct netlink *channel;
    struct write list[2 * BATCH_MAX_TARGETS];
    uint32_t n;
};

static void on_written(void *userdata, uint32_t n, const struct nlmsghdr *answer, int error,
                       const char *text)
{
    struct writes *writes = userdata;
    struct write *write = &writes->list[n];

    (void)answer;
    /* A route that is gone already counts as deleted. */
    if (!error || (!write->is_put && error == -ESRCH))
        return;
    write->error = error;
    writes->plan->stats.failed++;
    write->target->error = error;
    free(write->target->error_text);
    write->target->error_text = strdup(text[0] ? text : strerror(-error));
}

/* Adds what is due to a target. */
static void add(struct writes *writes, struct target *target)
{
    struct plan *plan = writes->plan;
    const struct target_state state = target_state(target, &plan->routing);
    const struct route own = { .dst = target->wanted.dst,
                               .table = plan->config.table,
                               .protocol = OUR_PROTOCOL };
    bool is_sent = !plan->config.dry_run;

    /* It could overwrite a foreign route. */
    if (state.is_put && plan->routing.has_foreign[family_index(own.dst.family)]) {
        target->is_failed = true;
        return;
    }
    if (state.is_delete) {
        writes->list[writes->n++] = (struct write){ .target = target };
        if (is_sent)
            netlink_add(writes->channel,
                        message_route_delete(netlink_room(writes->channel), &own));
    }
    if (state.is_put) {
        writes->list[writes->n++] = (struct write){
            .target = target, .is_put = true, .own = state.own
        };
        if (is_sent)
            netlink_add(writes->channel,
                        message_route_put(netlink_room(writes->channel), &own, &target->base,
                                          &state.own));
    }
    if (!state.is_delete && !state.is_put && target->wanted.initcwnd != 0)
        targets_tell(&plan->targets, target, &plan->routing, false);
}

static void note(struct plan *plan, const struct write *write)
{
    struct target *target = write->target;
    bool is_written = write->is_put && !write->error;

    target->is_failed |= write->error != 0;
    if (is_written) {
        targets_set_in_kernel(&plan->targets, target, true);
        target->written = write->own;
    } else if (write->is_put && target->is_in_kernel) {
        /* The old route may lead elsewhere by now: no route is better than a wrong one. */
        targets_push(&plan->targets, WORK_SYNC, target);
    } else if (!write->is_put && !write->error) {
        targets_set_in_kernel(&plan->targets, target, false);
        if (target->wanted.initcwnd == 0)
            target->error = 0;
    }
    targets_tell(&plan->targets, target, &plan->routing, is_written);
}

int sync_targets(struct plan *plan, struct netlink *channel)
{
    struct target *targets[BATCH_MAX_TARGETS], *asked[RESOLVE_MAX_TARGETS];
    struct writes writes = { .plan = plan, .channel = channel };
    uint32_t n = 0, n_asked = 0;
    int r;

    plan->all_touched[0] = plan->all_touched[1] = TOUCH_NONE;
    while (n < BATCH_MAX_TARGETS && n_asked < RESOLVE_MAX_TARGETS &&
           (targets[n] = targets_take(&plan->targets, WORK_SYNC))) {
        if (targets[n]->must_ask && targets[n]->wanted.initcwnd != 0)
            asked[n_asked++] = targets[n];
        n++;
    }
    r = sync_resolve(plan, channel, asked, n_asked);
    for (uint32_t i = 0; i < n && r == 0; i++) {
        if (netlink_has_room(channel, 2))
            add(&writes, targets[i]);
        else
            targets_push(&plan->targets, WORK_SYNC, targets[i]);
    }
    if (r == 0)
        r = netlink_exchange(channel, on_written, &writes);
    plan->stats.written += writes.n;
    for (uint32_t i = 0; i < writes.n && r == 0; i++)
        note(plan, &writes.list[i]);
    for (uint32_t i = 0; i < n; i++) {
        if (r < 0)
            targets_push(&plan->targets, WORK_SYNC, targets[i]);
        else
            targets_forget_if_done(&plan->targets, targets[i]);
    }
    return r;
}

/* A missing rule counts as deleted, one that is there as added. */
static int send_rule(struct netlink *channel, uint16_t type, const struct rule *rule,
                     struct riptide_error *error)
{
    int r = netlink_request(channel, message_rule(netlink_room(channel), type, rule), error);

    return r == (type == RTM_DELRULE ? -ENOENT : -EEXIST) ? 0 : r;
}

/* A rule that could not be deleted is still in place, and does not count as removed. */
static int remove_rule(struct plan *plan, struct netlink *channel, int i)
{
    struct rule_state *state = &plan->own[i];
    int r = 0;

    if (state->is_in_place) {
        r = send_rule(channel, RTM_DELRULE, &state->rule, NULL);
        if (r < 0)
            return r;
        state->is_in_place = false;
        plan->stats.rule_removals++;
        plan->budget -= COST_REMOVAL;
    }
    state->must_remove = false;
    return 0;
}

int sync_remove(struct plan *plan, struct netlink *channel)
{
    int first = plan->own[0].must_remove ? remove_rule(plan, channel, 0) : 0;
    int r = plan->own[1].must_remove ? remove_rule(plan, channel, 1) : 0;

    return first < 0 ? first : r;
}

int sync_check_rules(struct plan *plan, struct netlink *channel, int i)
{
    const struct rules *rules = &plan->seen[i];
    int r = 0;

    if (!plan->is_claimed ||
        (plan->own[i].is_in_place && rules_has_ours_in_place(rules, plan->config.table)))
        return 0;
    plan->own[i].is_in_place = false;
    for (uint32_t n = 0; n < rules->n && r == 0; n++) {
        const struct rule *rule = &rules->list[n];

        if (!rule->is_ours)
            continue;
        r = send_rule(channel, RTM_DELRULE, rule, NULL);
        if (r == 0 && plan->removed.rules++ == 0)
            plan->removed.table = rule->table;
    }
    return r;
}

static int place_rule(struct plan *plan, struct netlink *channel, int i,
                      struct riptide_error *error)
{
    struct rule_state *state = &plan->own[i];
    int r;

    /* No rules at all: this kernel lacks the family. */
    if (plan->seen[i].n == 0)
        return 0;
    state->reason = routing_reason(&plan->routing, i);
    if (state->reason)
        return remove_rule(plan, channel, i);
    if (state->is_in_place)
        return 0;
    state->reason = rules_place(&plan->seen[i], &state->rule.priority);
    if (state->reason)
        return 0;
    r = send_rule(channel, RTM_NEWRULE, &state->rule, error);
    state->is_in_place = r == 0;
    return r;
}

int sync_rules(struct plan *plan, struct netlink *channel, struct riptide_error *error)
{
    int r = place_rule(plan, channel, 0, error);

    return r < 0 ? r : place_rule(plan, channel, 1, error);
}
