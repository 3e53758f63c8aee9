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
    struct route base;
    const char *reason = answer ? base_parse(&base, &target->wanted.dst, answer) : base_malformed;
    int r;

    /* It would write a route of any table to main. */
    if (!reason && router->seen[family_index(target->wanted.dst.family)].n == 0)
        reason = "this kernel has no policy routing for its family";
    if (!reason)
        routing_take_mtu(&router->routing, &base);
    router->stats.malformed += reason == base_malformed;
    target->reason = reason;
    r = targets_set_base(&router->targets, target, reason ? NULL : &base);
    target->is_failed = r < 0 || reason == base_refused;
    target->must_ask = false;
    target->error = 0;
}

/* Behind the answer about the base route. */
static void take_tcp(struct router *router, struct target *target, const struct nlmsghdr *answer)
{
    const struct rule_state *rule = &router->own[family_index(target->wanted.dst.family)];
    bool is_new = target_state(target).is_put && target->told.state != RIPTIDE_ROUTE_FAILED;
    struct route route = { .table = 0 };

    if (answer->nlmsg_type == RTM_NEWROUTE && route_parse(&route, answer) < 0)
        router->stats.malformed++;
    if (rule->is_in_place && target->is_in_kernel)
        targets_set_not_taken(&router->targets, target, route.table != router->config.table);
    /* Before the rule and the route are there nothing is known: it is asked again. */
    else if ((is_new || target->is_in_kernel) && !rule->reason && router->is_claimed &&
             !router->why_paused)
        target->is_failed = true;
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
        if (targets[i]->must_ask)
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
    struct netlink *channel = &router->channel;
    const struct target_state state = target_state(target);
    const struct route own = { .dst = target->wanted.dst,
                               .table = router->config.table,
                               .protocol = OUR_PROTOCOL };

    /* It could overwrite a foreign route. */
    if (state.is_put && router->routing.has_foreign[family_index(own.dst.family)]) {
        target->is_failed = true;
        return;
    }
    if (state.is_delete) {
        add(writes, target, message_route_delete(netlink_room(channel), &own));
        targets_set_in_kernel(&router->targets, target, false);
        if (target->wanted.initcwnd == 0)
            target->error = 0;
    }
    if (state.is_put) {
        add(writes, target,
            message_route_put(netlink_room(channel), &own, &target->base->route, &state.own));
        targets_set_in_kernel(&router->targets, target, true);
        target->written = state.own;
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
    target->is_failed |= target->told.state != RIPTIDE_ROUTE_FAILED;
    targets_doubt(targets, target);
    /* An old route may lead elsewhere by now: it is deleted. None is better than a wrong one. */
    if (is_put)
        targets_push(targets, WORK_SYNC, target);
}

int sync_targets(struct router *router)
{
    struct target *targets[BATCH_MAX_TARGETS], *asked[BATCH_MAX_TARGETS];
    struct writes writes = { .router = router };
    uint32_t n = 0, n_asked = 0;
    int r;

    router->all_touched[0] = router->all_touched[1] = TOUCH_NONE;
    while (n < BATCH_MAX_TARGETS && (targets[n] = targets_take(&router->targets, WORK_SYNC))) {
        if (targets[n]->must_ask && targets[n]->wanted.initcwnd != 0)
            asked[n_asked++] = targets[n];
        n++;
    }
    r = sync_resolve(router, asked, n_asked);
    for (uint32_t i = 0; i < n && r == 0; i++)
        write_target(&writes, targets[i]);
    if (r == 0)
        r = netlink_exchange(&router->channel, on_written, &writes);
    for (uint32_t i = 0; i < writes.n && r < 0; i++)
        targets_doubt(&router->targets, writes.list[i].target);
    for (uint32_t i = 0; i < n; i++) {
        if (r < 0) {
            targets_push(&router->targets, WORK_SYNC, targets[i]);
        } else {
            targets_tell(&router->targets, targets[i]);
            targets_forget_if_done(&router->targets, targets[i]);
        }
    }
    return r;
}

/* A missing rule counts as deleted, one that is there as added. */
static int send_rule(struct router *router, uint16_t type, const struct rule *rule,
                     struct riptide_error *error)
{
    int r = 0;

    if (router->is_claimed)
        r = netlink_request(&router->channel,
                            message_rule(netlink_room(&router->channel), type, rule), error);
    return r == (type == RTM_DELRULE ? -ENOENT : -EEXIST) ? 0 : r;
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
    int first = router->own[0].must_remove ? remove_rule(router, 0) : 0;
    int r = router->own[1].must_remove ? remove_rule(router, 1) : 0;

    return first < 0 ? first : r;
}

int sync_check_rules(struct router *router, int i)
{
    const struct rules *rules = &router->seen[i];
    int first = 0, r;

    if (router->own[i].is_in_place && rules_has_ours_in_place(rules, router->config.table))
        return 0;
    for (uint32_t n = 0; n < rules->n; n++) {
        const struct rule *rule = &rules->list[n];

        if (!rule->is_ours)
            continue;
        r = send_rule(router, RTM_DELRULE, rule, NULL);
        first = first ? first : r;
        if (r == 0 && router->removed.rules++ == 0)
            router->removed.table = rule->table;
    }
    router->own[i].is_in_place &= first != 0;
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
    return r;
}

int sync_rules(struct router *router, struct riptide_error *error)
{
    int r = place_rule(router, 0, error);

    return r < 0 ? r : place_rule(router, 1, error);
}
