/* SPDX-License-Identifier: MIT */
/*
 * From what is wanted to what the kernel has. Each function sends one batch and notes the answers
 * in the targets; the order of things is router.c's.
 */
#include "sync.h"

#include "message.h"
#include "router.h"
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
    struct riptide_router *router;
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
    writes->router->stats.failed++;
    target_set_failure(targets_at(&writes->router->targets, write->slot), error,
                       text[0] ? text : strerror(-error));
}

static void add_delete(struct writes *writes, uint32_t slot)
{
    struct riptide_router *router = writes->router;
    const struct target *target = targets_at(&router->targets, slot);
    const struct route route = {
        .dst = target->wanted.dst,
        .table = router->config.table,
        .priority = target->kernel.priority,
        .protocol = router->config.protocol,
    };

    writes->list[writes->n++] = (struct write){ .slot = slot };
    if (!router->config.dry_run)
        netlink_add(&router->channel,
                    message_route_delete(netlink_room(&router->channel), &route));
}

static const struct nlmsghdr *put_message(struct writes *writes, const struct target *target)
{
    const struct riptide_router_config *config = &writes->router->config;
    const struct base *base = bases_at(&writes->router->bases, target->base);
    const struct route_addition addition = {
        .dst = target->wanted.dst,
        .initcwnd = target_initcwnd(target, base),
        .initrwnd = target_initrwnd(base, config->cwnd_max),
        .mtu_bytes = target_mtu(target, base, &writes->router->links),
        .rto_min_us = target->wanted.rto_min_us,
    };

    if (writes->base != target->base)
        writes->begun_bytes = message_route_begin(&writes->message, base, config->table,
                                                  config->protocol);
    writes->base = target->base;
    return message_route_put(&writes->message, writes->begun_bytes, base, &addition);
}

static void note_failed(struct riptide_router *router, uint32_t slot)
{
    targets_at(&router->targets, slot)->is_failed = true;
    router->has_failures = true;
    targets_set_state(&router->targets, slot, RIPTIDE_ROUTE_FAILED);
}

static void note_failed_put(struct riptide_router *router, uint32_t slot)
{
    note_failed(router, slot);
    /* What stands there may lead elsewhere by now: without us is better than wrong. */
    if (targets_at(&router->targets, slot)->kernel.exists)
        targets_push(&router->targets, QUEUE_WRITE, slot);
}

static void add_put(struct writes *writes, uint32_t slot)
{
    struct riptide_router *router = writes->router;
    const struct target *target = targets_at(&router->targets, slot);

    if (!router->config.dry_run)
        netlink_add(&router->channel, put_message(writes, target));
    writes->list[writes->n++] = (struct write){ .slot = slot, .is_put = true };
}

/* A route of another priority is another route: it goes after its successor is there. */
static void add_write(struct writes *writes, uint32_t slot)
{
    struct riptide_router *router = writes->router;
    const struct target *target = targets_at(&router->targets, slot);

    if (target_is_wanted(target, &router->bases, &router->config)) {
        add_put(writes, slot);
        if (!target->kernel.exists ||
            target->kernel.priority == bases_at(&router->bases, target->base)->priority)
            return;
    }
    add_delete(writes, slot);
}

static void note_put(struct riptide_router *router, uint32_t slot)
{
    struct target *target = targets_at(&router->targets, slot);
    const struct base *base = bases_at(&router->bases, target->base);

    if (target->kernel.base != target->base) {
        bases_release(&router->bases, target->kernel.base);
        bases_share(&router->bases, target->base);
        target->kernel.base = target->base;
    }
    target->kernel.priority = base->priority;
    target->kernel.initcwnd = target_initcwnd(target, base);
    target->kernel.initrwnd = target_initrwnd(base, router->config.cwnd_max);
    target->kernel.mtu_bytes = target_mtu(target, base, &router->links);
    target->kernel.rto_min_ms = message_rto_min_ms(base, target->wanted.rto_min_us);
    targets_set_exists(&router->targets, target, true);
    targets_set_state(&router->targets, slot, RIPTIDE_ROUTE_APPLIED);
}

static void note_delete(struct riptide_router *router, uint32_t slot)
{
    struct target *target = targets_at(&router->targets, slot);

    bases_release(&router->bases, target->kernel.base);
    target->kernel.base = BASES_NONE;
    targets_set_exists(&router->targets, target, false);
    targets_set_state(&router->targets, slot,
                      target->error      ? RIPTIDE_ROUTE_FAILED
                      : target->wanted.initcwnd ? RIPTIDE_ROUTE_LEFT_ALONE
                                         : RIPTIDE_ROUTE_WITHDRAWN);
}

static void note(struct riptide_router *router, const struct write *write)
{
    const struct target *target = targets_at(&router->targets, write->slot);

    if (write->is_put && write->error)
        note_failed_put(router, write->slot);
    else if (write->is_put)
        note_put(router, write->slot);
    else if (write->error)
        note_failed(router, write->slot);
    else if (!target_is_wanted(target, &router->bases, &router->config))
        note_delete(router, write->slot);
}

/* Whether it could overwrite a foreign route. A look that finds none queues all again. */
static bool is_held(const struct riptide_router *router, const struct target *target)
{
    return router->lock_fd >= 0 && target_is_wanted(target, &router->bases, &router->config) &&
           scan_foreign_reason(&router->scan, family_index(target->wanted.dst.family));
}

static void note_unwritten(struct riptide_router *router, uint32_t slot)
{
    router_note_at_base(router, slot, false);
    targets_forget_if_done(&router->targets, &router->bases, slot);
}

int sync_write(struct riptide_router *router)
{
    struct writes writes = { .router = router, .base = BASES_NONE };
    uint32_t slot;
    int r;

    /* A target is at most two requests. */
    while (writes.n + 2 <= BATCH_MAX_REQUESTS && netlink_has_room(&router->channel, 2) &&
           (slot = targets_take(&router->targets, QUEUE_WRITE)) != NONE) {
        if (is_held(router, targets_at(&router->targets, slot)))
            continue;
        if (target_needs_write(targets_at(&router->targets, slot), &router->bases, &router->links,
                               &router->config))
            add_write(&writes, slot);
        else
            note_unwritten(router, slot);
    }
    r = netlink_exchange(&router->channel, on_written, &writes);
    if (r != 0) {
        for (uint32_t i = 0; i < writes.n; i++)
            targets_push(&router->targets, QUEUE_WRITE, writes.list[i].slot);
        return r;
    }
    router->stats.written += writes.n;
    router->stats.batches += writes.n > 0;
    for (uint32_t i = 0; i < writes.n; i++)
        note(router, &writes.list[i]);
    return 0;
}

/* What is gone already needs no deleting. */
static int delete_rule(struct riptide_router *router, int i, const struct rule_place *place,
                       enum rule_role role, uint32_t mark)
{
    const struct rule_identity identity = {
        .table = router->config.table,
        .protocol = router->config.protocol,
        .mark = mark,
    };
    int r = netlink_request(&router->channel,
                            message_rule_delete(netlink_room(&router->channel), families[i],
                                                place, role, &identity),
                            NULL);

    return r == -ENOENT ? 0 : r;
}

/* A rule that could not be deleted still stands, and is not said to be lifted. */
int sync_lift_rule(struct riptide_router *router, int i)
{
    struct rule_state *state = &router->rules[i];
    int r;

    if (!state->is_in_place || state->is_lifted)
        return 0;
    r = delete_rule(router, i, &state->place, RULE_LOOKUP, router->config.mark);
    if (r < 0)
        return r;
    state->is_lifted = true;
    router->stats.lifts++;
    return 0;
}

int sync_lift_rules(struct riptide_router *router)
{
    int r4 = sync_lift_rule(router, 0), r6 = sync_lift_rule(router, 1);

    return r4 < 0 ? r4 : r6;
}

int sync_clear_rules(struct riptide_router *router, int i)
{
    const struct rules *rules = &router->scan.rules[i];
    int r = 0;

    for (uint32_t n = 0; n < rules->n && r == 0; n++) {
        const struct rule *rule = &rules->list[n];
        const struct rule_place place = { .priority = rule->priority,
                                          .main_priority = rule->target };

        if (rule->role != RULE_FOREIGN)
            r = delete_rule(router, i, &place, rule->role, rule->fwmark);
    }
    return r;
}

static int add_rule(struct riptide_router *router, int i, enum rule_role role,
                    struct riptide_error *error)
{
    return netlink_request(&router->channel,
                           message_rule_add(netlink_room(&router->channel), families[i],
                                            &router->rules[i].place, role, &router->identity),
                           error);
}

/* The way around for queries stands first, or a query of that moment would see our own routes. */
static int place_rules(struct riptide_router *router, int i, struct riptide_error *error)
{
    struct rule_state *state = &router->rules[i];
    int r = 0;

    /* No rules at all: this kernel does not have the family. */
    if (router->scan.rules[i].n == 0)
        return 0;
    state->reason = scan_foreign_reason(&router->scan, i);
    if (!state->reason)
        state->reason = main_table_cut_reason(&router->scan.main, i);
    if (state->reason)
        return sync_lift_rule(router, i);
    if (state->is_in_place && !state->is_lifted)
        return 0;
    if (!state->is_in_place) {
        state->reason =
            rules_place(&router->scan.rules[i], router->config.rule_priority, &state->place);
        if (state->reason)
            return 0;
        r = add_rule(router, i, RULE_SKIP, error);
    }
    if (r == 0)
        r = add_rule(router, i, RULE_LOOKUP, error);
    state->is_in_place = r == 0;
    state->is_lifted = false;
    /* One of them may stand, or both where the answer was lost. */
    for (enum rule_role role = RULE_SKIP; r < 0 && role <= RULE_LOOKUP; role++)
        delete_rule(router, i, &state->place, role, router->config.mark);
    return r;
}

int sync_rules(struct riptide_router *router, struct riptide_error *error)
{
    int r = 0;

    for (int i = 0; i < 2 && r == 0; i++)
        r = place_rules(router, i, error);
    return r;
}
