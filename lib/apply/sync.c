/* SPDX-License-Identifier: MIT */
/*
 * From what is wanted to what the kernel has. Each function sends one batch and notes the answers
 * in the targets; the order of things is work.c's.
 */
#include "sync.h"

#include "message.h"
#include "prefix.h"
#include "watch.h"

#include <errno.h>
#include <string.h>

#define NONE PREFIX_TABLE_NONE

/* One request of a batch of routes. */
struct write {
    uint32_t slot;
    bool is_put;
    int error;
};

struct writes {
    struct plan *plan;
    struct netlink *channel;
    struct netlink_room message; /* used for one route after the other */
    uint32_t base;               /* that it was begun with; BASES_NONE: with none */
    uint32_t begun_bytes;
    struct write list[BATCH_MAX_REQUESTS];
    uint32_t n;
};

static void on_written(void *userdata, uint32_t n, const struct nlmsghdr *answer, int error,
                       const char *text)
{
    struct writes *writes = userdata;
    struct write *write = &writes->list[n];

    (void)answer;
    /* What is gone already needs no deleting. */
    if (!error || (!write->is_put && error == -ESRCH))
        return;
    write->error = error;
    writes->plan->stats.failed++;
    target_set_failure(targets_at(&writes->plan->targets, write->slot), error,
                       text[0] ? text : strerror(-error));
}

static void add_delete(struct writes *writes, uint32_t slot)
{
    struct plan *plan = writes->plan;
    const struct target *target = targets_at(&plan->targets, slot);
    const struct route route = {
        .dst = target->wanted.dst,
        .table = plan->config.table,
        .priority = target->kernel.priority,
        .protocol = plan->config.protocol,
    };

    writes->list[writes->n++] = (struct write){ .slot = slot };
    if (!plan->config.dry_run)
        netlink_add(writes->channel, message_route_delete(netlink_room(writes->channel), &route));
}

static const struct nlmsghdr *put_message(struct writes *writes, const struct target *target)
{
    const struct riptide_router_config *config = &writes->plan->config;
    const struct base *base = bases_at(&writes->plan->bases, target->base);
    const struct route_addition addition = {
        .dst = target->wanted.dst,
        .initcwnd = target_initcwnd(target, base),
        .initrwnd = target_initrwnd(base, config->cwnd_max),
        .mtu_bytes = target_mtu(target, base, &writes->plan->links),
        .rto_min_us = target->wanted.rto_min_us,
    };

    if (writes->base != target->base)
        writes->begun_bytes = message_route_begin(&writes->message, base, config->table,
                                                  config->protocol);
    writes->base = target->base;
    return message_route_put(&writes->message, writes->begun_bytes, base, &addition);
}

static void note_failed(struct plan *plan, uint32_t slot)
{
    targets_at(&plan->targets, slot)->is_failed = true;
    plan->has_failures = true;
    targets_set_state(&plan->targets, slot, RIPTIDE_ROUTE_FAILED);
}

static void note_failed_put(struct plan *plan, uint32_t slot)
{
    note_failed(plan, slot);
    /* What stands there may lead elsewhere by now: without us is better than wrong. */
    if (targets_at(&plan->targets, slot)->kernel.exists)
        targets_push(&plan->targets, QUEUE_WRITE, slot);
}

static void add_put(struct writes *writes, uint32_t slot)
{
    struct plan *plan = writes->plan;
    const struct target *target = targets_at(&plan->targets, slot);

    if (!plan->config.dry_run)
        netlink_add(writes->channel, put_message(writes, target));
    writes->list[writes->n++] = (struct write){ .slot = slot, .is_put = true };
}

/* A route of another priority is another route: it goes after its successor is there. */
static void add_write(struct writes *writes, uint32_t slot)
{
    struct plan *plan = writes->plan;
    const struct target *target = targets_at(&plan->targets, slot);

    if (target_is_wanted(target, &plan->bases, &plan->config)) {
        add_put(writes, slot);
        if (!target->kernel.exists ||
            target->kernel.priority == bases_at(&plan->bases, target->base)->priority)
            return;
    }
    add_delete(writes, slot);
}

static void note_put(struct plan *plan, uint32_t slot)
{
    struct target *target = targets_at(&plan->targets, slot);
    const struct base *base = bases_at(&plan->bases, target->base);

    if (target->kernel.base != target->base) {
        bases_release(&plan->bases, target->kernel.base);
        bases_share(&plan->bases, target->base);
        target->kernel.base = target->base;
    }
    target->kernel.priority = base->priority;
    target->kernel.initcwnd = target_initcwnd(target, base);
    target->kernel.initrwnd = target_initrwnd(base, plan->config.cwnd_max);
    target->kernel.mtu_bytes = target_mtu(target, base, &plan->links);
    target->kernel.rto_min_ms = message_rto_min_ms(base, target->wanted.rto_min_us);
    targets_set_exists(&plan->targets, target, true);
    targets_set_state(&plan->targets, slot, RIPTIDE_ROUTE_APPLIED);
}

static void note_delete(struct plan *plan, uint32_t slot)
{
    struct target *target = targets_at(&plan->targets, slot);

    bases_release(&plan->bases, target->kernel.base);
    target->kernel.base = BASES_NONE;
    targets_set_exists(&plan->targets, target, false);
    targets_set_state(&plan->targets, slot,
                      target->error      ? RIPTIDE_ROUTE_FAILED
                      : target->wanted.initcwnd ? RIPTIDE_ROUTE_LEFT_ALONE
                                         : RIPTIDE_ROUTE_WITHDRAWN);
}

static void note(struct plan *plan, const struct write *write)
{
    const struct target *target = targets_at(&plan->targets, write->slot);

    if (write->is_put && write->error)
        note_failed_put(plan, write->slot);
    else if (write->is_put)
        note_put(plan, write->slot);
    else if (write->error)
        note_failed(plan, write->slot);
    else if (!target_is_wanted(target, &plan->bases, &plan->config))
        note_delete(plan, write->slot);
}

/* Whether it could overwrite a foreign route. A scan that finds none queues all again. */
static bool is_held(const struct plan *plan, const struct target *target)
{
    return plan->is_claimed && target_is_wanted(target, &plan->bases, &plan->config) &&
           plan_foreign_reason(plan, family_index(target->wanted.dst.family));
}

static void note_unwritten(struct plan *plan, uint32_t slot)
{
    plan_note_at_base(plan, slot, false);
    targets_forget_if_done(&plan->targets, &plan->bases, slot);
}

int sync_write(struct plan *plan, struct netlink *channel)
{
    struct writes writes = { .plan = plan, .channel = channel, .base = BASES_NONE };
    uint32_t slot;
    int r;

    /* A target is at most two requests. */
    while (writes.n + 2 <= BATCH_MAX_REQUESTS && netlink_has_room(channel, 2) &&
           (slot = targets_take(&plan->targets, QUEUE_WRITE)) != NONE) {
        if (is_held(plan, targets_at(&plan->targets, slot)))
            continue;
        if (target_needs_write(targets_at(&plan->targets, slot), &plan->bases, &plan->links,
                               &plan->config))
            add_write(&writes, slot);
        else
            note_unwritten(plan, slot);
    }
    r = netlink_exchange(channel, on_written, &writes);
    if (r != 0) {
        for (uint32_t i = 0; i < writes.n; i++)
            targets_push(&plan->targets, QUEUE_WRITE, writes.list[i].slot);
        return r;
    }
    plan->stats.written += writes.n;
    plan->stats.batches += writes.n > 0;
    for (uint32_t i = 0; i < writes.n; i++)
        note(plan, &writes.list[i]);
    return 0;
}

/* What is gone already needs no deleting. */
static int delete_rule(struct plan *plan, struct netlink *channel, int i,
                       const struct rule_place *place, enum rule_role role, uint32_t mark)
{
    const struct rule_identity identity = {
        .table = plan->config.table,
        .protocol = plan->config.protocol,
        .mark = mark,
    };
    int r = netlink_request(
        channel, message_rule_delete(netlink_room(channel), families[i], place, role, &identity),
        NULL);

    return r == -ENOENT ? 0 : r;
}

/* A rule that could not be deleted still stands, and is not said to be lifted. */
static int lift_rule(struct plan *plan, struct netlink *channel, int i)
{
    struct rule_state *state = &plan->own[i];
    int r = 0;

    if (state->is_in_place && !state->is_lifted) {
        r = delete_rule(plan, channel, i, &state->place, RULE_LOOKUP, plan->config.mark);
        if (r < 0)
            return r;
        state->is_lifted = true;
        plan->stats.lifts++;
    }
    state->must_lift = false;
    return 0;
}

int sync_lift(struct plan *plan, struct netlink *channel)
{
    int r, first = 0;

    for (int i = 0; i < 2; i++) {
        r = plan->own[i].must_lift ? lift_rule(plan, channel, i) : 0;
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
            r = delete_rule(plan, channel, i, &place, rule->role, rule->fwmark);
    }
    return r;
}

static int add_rule(struct plan *plan, struct netlink *channel, int i, enum rule_role role,
                    struct riptide_error *error)
{
    return netlink_request(channel,
                           message_rule_add(netlink_room(channel), families[i],
                                            &plan->own[i].place, role, &plan->identity),
                           error);
}

/* The way around for queries stands first, or a query of that moment would see our own routes. */
static int place_rules(struct plan *plan, struct netlink *channel, int i,
                       struct riptide_error *error)
{
    struct rule_state *state = &plan->own[i];
    int r = 0;

    /* No rules at all: this kernel does not have the family. */
    if (plan->seen[i].n == 0)
        return 0;
    state->reason = plan_foreign_reason(plan, i);
    if (!state->reason)
        state->reason = main_table_cut_reason(&plan->main, i);
    if (state->reason)
        return lift_rule(plan, channel, i);
    if (state->is_in_place && !state->is_lifted)
        return 0;
    if (!state->is_in_place) {
        state->reason =
            rules_place(&plan->seen[i], plan->config.rule_priority, &state->place);
        if (state->reason)
            return 0;
        r = add_rule(plan, channel, i, RULE_SKIP, error);
    }
    if (r == 0)
        r = add_rule(plan, channel, i, RULE_LOOKUP, error);
    state->is_in_place = r == 0;
    state->is_lifted = false;
    /* One of them may stand, or both where the answer was lost. */
    for (enum rule_role role = RULE_SKIP; r < 0 && role <= RULE_LOOKUP; role++)
        delete_rule(plan, channel, i, &state->place, role, plan->config.mark);
    return r;
}

int sync_rules(struct plan *plan, struct netlink *channel, struct riptide_error *error)
{
    int r = 0;

    for (int i = 0; i < 2 && r == 0; i++)
        r = place_rules(plan, channel, i, error);
    return r;
}
