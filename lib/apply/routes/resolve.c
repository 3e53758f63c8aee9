/* SPDX-License-Identifier: MIT */
/* Queries base routes and records them in the targets. base.c interprets the answers. */
#include "router.h"

#include "message.h"
#include "prefix.h"

/*
 * Destinations are queried for TCP with our mark and, if this host has rules with conditions, also
 * without the mark: that answer is the same, or our own route, or those rules depend on marks. If
 * our rule is in place and the answer is not our route, another rule decides before ours.
 */
enum { MAX_QUERIES = 2 };

struct resolve {
    struct plan *plan;
    struct target *targets[RESOLVE_MAX_TARGETS];
    uint32_t n_queries;  /* for each of them */
    uint32_t n_answered; /* or lost: answers arrive in the order of the queries */
    /* The answers for the present destination. */
    struct base base;
    const char *reason;
    bool is_refused; /* the kernel refused one of the queries */
};

/* As base_parse; NULL stands for an answer that was too large. */
static const char *parse(struct resolve *resolve, struct base *base, const struct target *target,
                         const struct nlmsghdr *answer)
{
    const char *reason = base_malformed;

    if (answer && base_parse(base, &target->wanted.dst, answer, &reason))
        return NULL;
    resolve->plan->stats.malformed += reason == base_malformed;
    return reason;
}

/*
 * What TCP takes itself: a route of ours, whose rule is before main's, or main's. Where the mark
 * alone prevents a copy, that is the reason: TCP never takes the marked way.
 */
static void check_plain(struct resolve *resolve, struct target *target,
                        const struct nlmsghdr *answer)
{
    struct plan *plan = resolve->plan;
    int i = family_index(target->wanted.dst.family);
    struct base base;
    const char *reason = parse(resolve, &base, target, answer);
    bool is_taken =
        reason && reason != base_malformed && base.route.table == plan->config.table;

    if (plan->own[i].is_in_place && !plan->own[i].is_removed)
        targets_set_not_taken(&plan->targets, target, target->kernel.exists && !is_taken);
    if (!reason && (resolve->reason || !base_equal(&resolve->base, &base)))
        reason = plan->mark_reason[i];
    if (reason && !is_taken)
        resolve->reason = reason;
}

static void take(struct resolve *resolve, const struct nlmsghdr *answer, int error)
{
    struct plan *plan = resolve->plan;
    uint32_t n = resolve->n_answered++;
    struct target *target = resolve->targets[n / resolve->n_queries];

    if (n % resolve->n_queries == 0) {
        resolve->is_refused = false;
        resolve->reason = parse(resolve, &resolve->base, target, answer);
    } else {
        check_plain(resolve, target, answer);
    }
    resolve->is_refused |= error && !base_is_answer(error);
    if ((n + 1) % resolve->n_queries != 0)
        return;
    if (resolve->n_queries == 1)
        targets_set_not_taken(&plan->targets, target, false);
    if (!resolve->reason)
        resolve->reason = main_flags_contested(&plan->main, &resolve->base.route.dst);
    if (target_set_base(target, &resolve->base, resolve->reason) < 0)
        resolve->is_refused = true;
    target->is_failed = resolve->is_refused;
    target_set_failure(target, 0, NULL);
    targets_push(&plan->targets, WORK_WRITE, target);
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

int resolve_batch(struct plan *plan, struct netlink *channel)
{
    const uint32_t marks[MAX_QUERIES] = { plan->config.mark, 0 };
    struct resolve resolve = { .plan = plan, .n_queries = 1 };
    uint32_t n = 0;
    int r;

    for (int i = 0; i < 2; i++) {
        plan->is_all_touched[i] = false;
        rules_explain_mark(&plan->seen[i], plan->config.mark, plan->mark_reason[i],
                           sizeof(plan->mark_reason[i]));
        if (!rules_are_unconditional(&plan->seen[i]))
            resolve.n_queries = MAX_QUERIES;
    }
    while (n < RESOLVE_MAX_TARGETS && netlink_has_room(channel, MAX_QUERIES) &&
           (resolve.targets[n] = targets_take(&plan->targets, WORK_ASK))) {
        for (uint32_t i = 0; i < resolve.n_queries; i++)
            netlink_add(channel, message_route_query(netlink_room(channel),
                                                     &resolve.targets[n]->wanted.dst, marks[i]));
        n++;
    }
    r = netlink_exchange(channel, on_answer, &resolve);
    plan->stats.resolved += n;
    for (uint32_t i = 0; i < n; i++) {
        if (r < 0)
            targets_push(&plan->targets, WORK_ASK, resolve.targets[i]);
        else
            targets_forget_if_done(&plan->targets, resolve.targets[i]);
    }
    return r;
}
