/* SPDX-License-Identifier: MIT */
/*
 * Writes the plan to the kernel. Each function sends one batch and records the answers in the
 * targets; router.c determines the order.
 */
#include "router.h"

#include "message.h"
#include "prefix.h"

#include <errno.h>
#include <string.h>

/* One request of a batch of routes. */
struct write {
    struct target *target;
    bool is_put;
    int error;
};

struct writes {
    struct plan *plan;
    struct netlink *channel;
    struct write list[BATCH_MAX_REQUESTS];
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
    target_set_failure(write->target, error, text[0] ? text : strerror(-error));
}

static void add(struct writes *writes, struct target *target, bool is_put)
{
    const struct plan *plan = writes->plan;
    void *room = netlink_room(writes->channel);

    writes->list[writes->n++] = (struct write){ .target = target, .is_put = is_put };
    if (plan->config.dry_run)
        return;
    if (is_put) {
        const struct metrics metrics = target_metrics(target, &plan->links);

        netlink_add(writes->channel, message_route_put(room, &plan->identity, target->base,
                                                       &target->wanted.dst, &metrics));
    } else {
        const struct route route = { .dst = target->wanted.dst,
                                     .table = plan->config.table,
                                     .priority = target->kernel.priority,
                                     .protocol = plan->config.protocol };

        netlink_add(writes->channel, message_route_delete(room, &route));
    }
}

/* A route of another priority is another route: it is deleted after its successor is there. */
static void add_write(struct writes *writes, struct target *target)
{
    bool is_put = target_is_wanted(target, &writes->plan->links);

    if (is_put)
        add(writes, target, true);
    if (!is_put ||
        (target->kernel.exists && target->kernel.priority != target->base->route.priority))
        add(writes, target, false);
}

static void note_failed(struct plan *plan, const struct write *write)
{
    write->target->is_failed = true;
    targets_set_state(&plan->targets, write->target, RIPTIDE_ROUTE_FAILED);
    /* The old route may lead elsewhere by now: no route is better than a wrong one. */
    if (write->is_put && write->target->kernel.exists)
        targets_push(&plan->targets, QUEUE_WRITE, write->target);
}

static void note_put(struct plan *plan, struct target *target)
{
    targets_set_exists(&plan->targets, target, true);
    target->kernel.is_of_base = true;
    target->kernel.priority = target->base->route.priority;
    target->kernel.metrics = target_metrics(target, &plan->links);
    targets_say_base(&plan->targets, target);
    targets_set_state(&plan->targets, target, RIPTIDE_ROUTE_APPLIED);
}

static void note_delete(struct plan *plan, struct target *target)
{
    targets_set_exists(&plan->targets, target, false);
    targets_set_state(&plan->targets, target,
                      target->error             ? RIPTIDE_ROUTE_FAILED
                      : target->wanted.initcwnd ? RIPTIDE_ROUTE_LEFT_ALONE
                                                : RIPTIDE_ROUTE_WITHDRAWN);
}

static void note(struct plan *plan, const struct write *write)
{
    if (write->error)
        note_failed(plan, write);
    else if (write->is_put)
        note_put(plan, write->target);
    else if (!target_is_wanted(write->target, &plan->links))
        note_delete(plan, write->target);
}

/* Whether writing could overwrite a foreign route. After a scan without any, all are queued. */
static bool is_held(const struct plan *plan, const struct target *target)
{
    return plan->is_claimed && target_is_wanted(target, &plan->links) &&
           plan_foreign_reason(plan, family_index(target->wanted.dst.family));
}

/* The route is as wanted, or not needed: no base route, a window that suffices, a narrow path. */
static void note_unwritten(struct plan *plan, struct target *target)
{
    if (target->wanted.initcwnd != 0 && !target->kernel.exists && target->error == 0 &&
        (target->reason || target_is_at_base(target) || target_is_narrow(target, &plan->links)))
        targets_set_state(&plan->targets, target, RIPTIDE_ROUTE_LEFT_ALONE);
    targets_say_base(&plan->targets, target);
    targets_forget_if_done(&plan->targets, target);
}

int sync_write(struct plan *plan, struct netlink *channel)
{
    struct writes writes = { .plan = plan, .channel = channel };
    struct target *target;
    int r;

    /* A target needs at most two requests. */
    while (writes.n + 2 <= BATCH_MAX_REQUESTS && netlink_has_room(channel, 2) &&
           (target = targets_take(&plan->targets, QUEUE_WRITE))) {
        if (is_held(plan, target))
            continue;
        if (target_needs_write(target, &plan->links))
            add_write(&writes, target);
        else
            note_unwritten(plan, target);
    }
    r = netlink_exchange(channel, on_written, &writes);
    if (r != 0) {
        for (uint32_t i = 0; i < writes.n; i++)
            targets_push(&plan->targets, QUEUE_WRITE, writes.list[i].target);
        return r;
    }
    plan->stats.written += writes.n;
    plan->stats.batches += writes.n > 0;
    for (uint32_t i = 0; i < writes.n; i++)
        note(plan, &writes.list[i]);
    return 0;
}

/* Adds or deletes one of our rules; a missing one counts as deleted, one that is there as added. */
static int send_rule(const struct plan *plan, struct netlink *channel, uint16_t type, int i,
                     const struct rule_place *place, enum rule_role role, uint32_t mark,
                     struct riptide_error *error)
{
    struct rule_identity identity = plan->identity;
    int r;

    identity.mark = mark;
    r = netlink_request(
        channel, message_rule(netlink_room(channel), type, families[i], place, role, &identity),
        error);
    return r == (type == RTM_DELRULE ? -ENOENT : -EEXIST) ? 0 : r;
}

/* A rule that could not be deleted is still in place, and does not count as removed. */
static int remove_lookup(struct plan *plan, struct netlink *channel, int i)
{
    struct rule_state *state = &plan->own[i];
    int r = 0;

    if (state->is_in_place && !state->is_removed) {
        r = send_rule(plan, channel, RTM_DELRULE, i, &state->place, RULE_LOOKUP, plan->config.mark,
                      NULL);
        if (r < 0)
            return r;
        state->is_removed = true;
        plan->stats.rule_removals++;
        plan->budget -= COST_REMOVAL;
    }
    state->must_remove = false;
    return 0;
}

int sync_remove(struct plan *plan, struct netlink *channel)
{
    int r, first = 0;

    for (int i = 0; i < 2; i++) {
        r = plan->own[i].must_remove ? remove_lookup(plan, channel, i) : 0;
        first = first < 0 ? first : r;
    }
    return first;
}

int sync_clear_rules(struct plan *plan, struct netlink *channel, int i)
{
    const struct rules *rules = &plan->seen[i];
    int r = 0;

    for (uint32_t n = 0; n < rules->n && r == 0; n++) {
        const struct rule *rule = &rules->list[n];
        const struct rule_place place = { .priority = rule->priority,
                                          .main_priority = rule->target };

        if (rule->role != RULE_FOREIGN)
            r = send_rule(plan, channel, RTM_DELRULE, i, &place, rule->role, rule->mark, NULL);
    }
    return r;
}

static void remove_rules(const struct plan *plan, struct netlink *channel, int i)
{
    for (enum rule_role role = RULE_LOOKUP; role >= RULE_SKIP; role--)
        send_rule(plan, channel, RTM_DELRULE, i, &plan->own[i].place, role, plan->config.mark,
                  NULL);
}

void sync_remove_rules(const struct plan *plan, struct netlink *channel)
{
    for (int i = 0; i < 2; i++) {
        if (plan->own[i].is_in_place)
            remove_rules(plan, channel, i);
    }
}

/* The goto comes first, or a query in between would return our own routes. */
static int place_rules(struct plan *plan, struct netlink *channel, int i,
                       struct riptide_error *error)
{
    struct rule_state *state = &plan->own[i];
    int r = 0;

    /* No rules at all: this kernel lacks the family. */
    if (plan->seen[i].n == 0)
        return 0;
    state->reason = plan_foreign_reason(plan, i);
    if (!state->reason)
        state->reason = main_flags_reason(&plan->main, i);
    if (state->reason)
        return remove_lookup(plan, channel, i);
    if (state->is_in_place && !state->is_removed)
        return 0;
    if (!state->is_in_place) {
        state->reason = rules_place(&plan->seen[i], plan->config.rule_priority, &state->place);
        if (state->reason)
            return 0;
    }
    for (enum rule_role role = state->is_in_place ? RULE_LOOKUP : RULE_SKIP;
         r == 0 && role <= RULE_LOOKUP; role++)
        r = send_rule(plan, channel, RTM_NEWRULE, i, &state->place, role, plan->config.mark, error);
    state->is_in_place = r == 0;
    state->is_removed = false;
    /* One of them may be in place, or both if the answer was lost. */
    if (r < 0)
        remove_rules(plan, channel, i);
    return r;
}

int sync_rules(struct plan *plan, struct netlink *channel, struct riptide_error *error)
{
    int r = 0;

    for (int i = 0; i < 2 && r == 0; i++)
        r = place_rules(plan, channel, i, error);
    return r;
}
