/* SPDX-License-Identifier: MIT */
/* Queries base routes and records them in targets. route.c interprets the answers. */
#include "router.h"

#include "message.h"
#include "prefix.h"

/*
 * Destinations are queried as they are without us (rule.h) and, if this host has rules with
 * conditions, also as TCP: if our rule is in place and that answer is not our route, another rule
 * decides before ours.
 */
enum { MAX_QUERIES = 2 };

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
    target_set_failure(target, 0, NULL);
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

    if (n % resolve->n_queries > 0) {
        take_tcp(resolve->plan, target, answer);
        return;
    }
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

int resolve_targets(struct plan *plan, struct netlink *channel, struct target **targets,
                    uint32_t n)
{
    struct resolve resolve = { .plan = plan, .targets = targets, .n_queries = 1 };

    if (!rules_are_unconditional(&plan->seen[0]) || !rules_are_unconditional(&plan->seen[1]))
        resolve.n_queries = MAX_QUERIES;
    for (uint32_t k = 0; k < n * resolve.n_queries; k++)
        netlink_add(channel, message_route_query(netlink_room(channel),
                                                 &targets[k / resolve.n_queries]->wanted.dst,
                                                 k % resolve.n_queries > 0));
    plan->stats.resolved += n;
    return netlink_exchange(channel, on_answer, &resolve);
}
