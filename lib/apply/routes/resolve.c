/* SPDX-License-Identifier: MIT */
/* Queries base routes and records them in the targets. base.c interprets the answers. */
#include "router.h"

#include "message.h"
#include "prefix.h"

#include <errno.h>

/*
 * A destination is queried for TCP with our mark and, if this host has rules with conditions, also
 * without the mark: if that answer is neither the same nor our own route, those rules depend on
 * marks. A probe also queries the link, as a router or a sysctl may change its IPv6 MTU.
 */
enum query { QUERY_MARKED, QUERY_PLAIN, QUERY_LINK };

enum { MAX_QUERIES = 3 };

struct resolve {
    struct plan *plan;
    bool is_plain_asked[2]; /* for each of families[] */
    uint32_t n_asked;
    uint32_t n_answered; /* or lost: answers arrive in the order of the queries */
    struct {
        struct target *target;
        enum query query;
    } asked[RESOLVE_MAX_TARGETS * MAX_QUERIES];
    /* The answers for the present destination. */
    struct base base;
    const char *reason;
    bool is_refused;      /* the kernel refused one of the queries */
    bool has_probe_moved; /* a base route or link has changed without notification */
};

/* A prefix is queried by its second address: the first may be a broadcast or anycast address. */
static struct riptide_prefix address_in(const struct riptide_prefix *dst)
{
    struct riptide_prefix address = *dst;
    uint8_t n_bits = prefix_family_bits(dst->family);

    address.len = n_bits;
    if (dst->len < n_bits)
        address.addr[n_bits / 8 - 1] |= 1;
    return address;
}

/* Why main's answer cannot be copied, for reasons outside the answer. NULL: it can. */
static const char *main_reason(struct plan *plan, const struct target *target,
                               const struct base *base)
{
    const char *reason =
        target->inside == INSIDE_SOME
            ? "main has more specific routes inside it"
            : main_table_contested_reason(&plan->main, &base->route.dst, &target->wanted.dst);

    plan->pass.is_contest_doubted |= reason && plan->main.is_stale;
    return reason;
}

static void resolved(struct resolve *resolve, struct target *target)
{
    struct plan *plan = resolve->plan;
    const struct base *before = target->base;
    const char *reason = resolve->reason;

    if (!reason)
        reason = main_reason(plan, target, &resolve->base);
    if (targets_set_base(&plan->targets, target, &resolve->base, reason) < 0)
        resolve->is_refused = true;
    target->is_failed = resolve->is_refused;
    resolve->has_probe_moved |= target->is_probe && before != target->base;
    target->is_probe = false;
    target_set_failure(target, 0, NULL);
    plan_note_base(plan, target);
    targets_push(&plan->targets, QUEUE_WRITE, target);
}

/* As base_parse; NULL stands for an answer that was too large. */
static const char *parse(struct resolve *resolve, struct base *base, const struct target *target,
                         const struct nlmsghdr *answer)
{
    struct plan *plan = resolve->plan;
    const char *reason = base_malformed;

    if (answer && base_parse(base, &target->wanted.dst, answer, plan->least_life_s, &reason))
        return NULL;
    plan->stats.malformed += reason == base_malformed;
    return reason;
}

/* Whether TCP already uses a route of ours, whose rule is before main's. */
static bool is_ours(const struct resolve *resolve, const struct nlmsghdr *answer)
{
    struct route route;

    return answer && answer->nlmsg_type == RTM_NEWROUTE && route_parse(&route, answer) == 0 &&
           route.table == resolve->plan->config.table;
}

/* Where the mark alone prevents a copy, that is the reason: TCP never takes the marked way. */
static void check_plain(struct resolve *resolve, const struct target *target,
                        const struct nlmsghdr *answer)
{
    const char *reason;
    struct base base;

    if (is_ours(resolve, answer))
        return;
    reason = parse(resolve, &base, target, answer);
    if (!reason && (resolve->reason || !base_equal(&resolve->base, &base)))
        reason = resolve->plan->mark_reason[family_index(target->wanted.dst.family)];
    if (reason)
        resolve->reason = reason;
}

/* If the link is gone, a notification comes. */
static void note_link(struct resolve *resolve, const struct nlmsghdr *answer)
{
    int r = answer ? links_take(&resolve->plan->links, answer) : -EBADMSG;

    resolve->plan->stats.malformed += r < 0;
    resolve->has_probe_moved |= r > 0;
}

static void take(struct resolve *resolve, const struct nlmsghdr *answer, int error)
{
    uint32_t n = resolve->n_answered++;
    struct target *target = resolve->asked[n].target;
    bool is_refused = error && !base_is_answer(error);

    switch (resolve->asked[n].query) {
    case QUERY_MARKED:
        resolve->is_refused = is_refused;
        resolve->reason = parse(resolve, &resolve->base, target, answer);
        if (!resolve->is_plain_asked[family_index(target->wanted.dst.family)])
            resolved(resolve, target);
        break;
    case QUERY_PLAIN:
        resolve->is_refused |= is_refused;
        check_plain(resolve, target, answer);
        resolved(resolve, target);
        break;
    case QUERY_LINK:
        note_link(resolve, answer);
        break;
    }
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

static void ask(struct resolve *resolve, struct netlink *channel, struct target *target)
{
    struct riptide_prefix address = address_in(&target->wanted.dst);
    uint32_t ifindex = target->base ? target->base->route.ifindex : 0;
    const bool is_asked[] = {
        [QUERY_MARKED] = true,
        [QUERY_PLAIN] = resolve->is_plain_asked[family_index(address.family)],
        [QUERY_LINK] = target->is_probe && target->base,
    };

    for (enum query query = QUERY_MARKED; query <= QUERY_LINK; query++) {
        void *room = netlink_room(channel);

        if (!is_asked[query])
            continue;
        resolve->asked[resolve->n_asked].target = target;
        resolve->asked[resolve->n_asked++].query = query;
        netlink_add(channel,
                    query == QUERY_LINK
                        ? message_link_query(room, ifindex)
                        : message_route_query(
                              room, &address,
                              query == QUERY_MARKED ? resolve->plan->config.mark : 0));
    }
}

int resolve_batch(struct plan *plan, struct netlink *channel)
{
    struct resolve resolve = { .plan = plan };
    struct target *targets[RESOLVE_MAX_TARGETS];
    uint32_t n = 0;
    int r;

    for (int i = 0; i < 2; i++) {
        resolve.is_plain_asked[i] = !rules_are_unconditional(&plan->seen[i]);
        rules_explain_mark(&plan->seen[i], plan->config.mark, plan->mark_reason[i],
                           sizeof(plan->mark_reason[i]));
    }
    while (n < RESOLVE_MAX_TARGETS && netlink_has_room(channel, MAX_QUERIES) &&
           (targets[n] = targets_take(&plan->targets, QUEUE_RESOLVE)))
        ask(&resolve, channel, targets[n++]);
    r = netlink_exchange(channel, on_answer, &resolve);
    plan->stats.resolved += n;
    for (uint32_t i = 0; i < n; i++) {
        if (r < 0)
            targets_push(&plan->targets, QUEUE_RESOLVE, targets[i]);
        else
            targets_forget_if_done(&plan->targets, targets[i]);
    }
    if (r == 0 && resolve.has_probe_moved)
        plan_touch_all(plan);
    return r;
}
