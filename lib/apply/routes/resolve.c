/* SPDX-License-Identifier: MIT */
/* Queries base routes and records them in targets. base.c interprets the answers. */
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
    struct target **targets;
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

    if (plan->own[i].is_in_place)
        targets_set_not_taken(&plan->targets, target, target->is_in_kernel && !is_taken);
    if (!reason && (resolve->reason || !base_equal(&resolve->base, &base)))
        reason = plan->own[i].mark_reason;
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
    if (!resolve->reason && main_flags_contest(&plan->main, &resolve->base.route.dst))
        resolve->reason = "several routes of main compete for it";
    if (target_set_base(target, &resolve->base, resolve->reason) < 0 ||
        (target->base && links_use(&plan->links, target->base->route.ifindex) < 0))
        resolve->is_refused = true;
    target->must_ask = false;
    target->is_failed = resolve->is_refused;
    target_set_failure(target, 0, NULL);
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
    const uint32_t marks[MAX_QUERIES] = { plan->config.mark, 0 };
    struct resolve resolve = { .plan = plan, .targets = targets, .n_queries = 1 };

    if (!rules_are_unconditional(&plan->seen[0]) || !rules_are_unconditional(&plan->seen[1]))
        resolve.n_queries = MAX_QUERIES;
    for (uint32_t k = 0; k < n * resolve.n_queries; k++)
        netlink_add(channel, message_route_query(netlink_room(channel),
                                                 &targets[k / resolve.n_queries]->wanted.dst,
                                                 marks[k % resolve.n_queries]));
    plan->stats.resolved += n;
    return netlink_exchange(channel, on_answer, &resolve);
}
