/* SPDX-License-Identifier: MIT */
/*
 * Asking the kernel what it would do without us, and noting the answer in the targets. What an
 * answer means is base.c's.
 */
#include "router.h"

#include "message.h"
#include "prefix.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

/*
 * A destination is asked for once or three times: the route for TCP with our mark, and where this
 * host has rules with conditions, for any packet without, and for TCP without. Where the first two
 * differ, or the third is neither theirs nor our own, those rules tell marks or protocols apart. In
 * a probe its link is asked for as well: the MTU that IPv6 has for that may be set by a router or a
 * sysctl.
 */
enum query { QUERY_MARKED, QUERY_ANY, QUERY_PLAIN, QUERY_LINK };

enum { MAX_QUERIES = 4 };

struct resolve {
    struct plan *plan;
    struct netlink *channel;
    uint32_t n_asked;
    uint32_t n_answered; /* or lost: answers come in the order of the queries */
    struct {
        struct target *target;
        enum query query;
    } asked[RESOLVE_MAX_TARGETS * MAX_QUERIES];
    /* The answers about the destination at hand. */
    struct base base;
    const char *reason;
    bool are_rules_asked[2]; /* by a query of any packet, and of TCP */
    bool is_refused;      /* one of the queries: the others say nothing then */
    bool has_probe_moved; /* some base, or link, has changed in silence */
};

/* A prefix is asked for by its second address: the first may be a broadcast or anycast address. */
static struct riptide_prefix address_in(const struct riptide_prefix *dst)
{
    struct riptide_prefix address = *dst;
    uint8_t n_bits = prefix_family_bits(dst->family);

    address.len = n_bits;
    if (dst->len < n_bits)
        address.addr[n_bits / 8 - 1] |= 1;
    return address;
}

static void resolved(struct resolve *resolve, struct target *target)
{
    struct plan *plan = resolve->plan;
    const char *reason = resolve->reason;
    struct base *base = NULL;

    if (!reason && target->inside == INSIDE_SOME)
        reason = "main has more specific routes inside it";
    if (!reason)
        reason = main_table_contested_reason(&plan->main, &resolve->base.route.dst,
                                             &target->wanted.dst);
    plan->pass.is_contest_doubted |= reason && !resolve->reason && plan->main.is_stale;
    if (!reason && bases_hold(&plan->targets.bases, &resolve->base, &base) < 0) {
        reason = "no memory for its base route";
        resolve->is_refused = true;
    }
    target->is_failed = resolve->is_refused;
    plan->has_failures |= resolve->is_refused;
    resolve->has_probe_moved |= target->is_probe && base != target->base;
    target->is_probe = false;
    targets_set_base(&plan->targets, target, base, reason);
    target_set_failure(target, 0, NULL);
    plan_note_base(plan, target);
    targets_push(&plan->targets, QUEUE_WRITE, target);
}

/* Whether TCP already takes a route of our own. */
static bool is_ours(const struct resolve *resolve, const struct nlmsghdr *answer)
{
    struct route route;

    return answer->nlmsg_type == RTM_NEWROUTE && route_parse(&route, answer) == 0 &&
           route.table == resolve->plan->config.table;
}

/* As base_parse; NULL stands for an answer that did not fit. */
static const char *parse(struct resolve *resolve, struct base *base, const struct target *target,
                         const struct nlmsghdr *answer)
{
    struct plan *plan = resolve->plan;
    const char *reason = base_malformed;

    if (answer &&
        base_parse(base, &target->wanted.dst, answer, plan->least_life_s, &reason))
        return NULL;
    plan->stats.malformed += reason == base_malformed;
    return reason;
}

static void check_same(struct resolve *resolve, const struct target *target,
                       const struct nlmsghdr *answer)
{
    struct base base;

    if (resolve->reason)
        return;
    resolve->reason = parse(resolve, &base, target, answer);
    if (!resolve->reason && !base_equal(&resolve->base, &base))
        resolve->reason = "rules of this host tell marks or protocols apart";
}

/* A link that has gone was announced. */
static void note_link(struct resolve *resolve, const struct nlmsghdr *answer)
{
    int r = answer ? links_take(&resolve->plan->links, answer) : -EBADMSG;

    resolve->plan->stats.malformed += r < 0;
    resolve->has_probe_moved |= r > 0;
}

static void take(struct resolve *resolve, uint32_t n, const struct nlmsghdr *answer, int error)
{
    struct target *target = resolve->asked[n].target;

    if (resolve->asked[n].query == QUERY_MARKED)
        resolve->is_refused = false;
    resolve->is_refused |= error && !base_is_answer(error);
    switch (resolve->asked[n].query) {
    case QUERY_MARKED:
        resolve->reason = parse(resolve, &resolve->base, target, answer);
        if (!resolve->are_rules_asked[family_index(target->wanted.dst.family)])
            resolved(resolve, target);
        break;
    case QUERY_ANY:
        check_same(resolve, target, answer);
        break;
    case QUERY_PLAIN:
        if (!answer || !is_ours(resolve, answer))
            check_same(resolve, target, answer);
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
    /* The acknowledgement that closes the batch is no answer to a query. */
    bool is_end = answer->nlmsg_type == NLMSG_ERROR && error == 0;

    (void)text;
    /* One that did not fit says nothing about the other destinations. */
    while (resolve->n_answered < n + is_end)
        take(resolve, resolve->n_answered++, NULL, 0);
    if (!is_end && resolve->n_answered == n)
        take(resolve, resolve->n_answered++, answer, error);
}

static void ask(struct resolve *resolve, struct target *target, enum query query,
                const struct nlmsghdr *message)
{
    resolve->asked[resolve->n_asked].target = target;
    resolve->asked[resolve->n_asked++].query = query;
    netlink_add(resolve->channel, message);
}

/* Asks what there is to ask about one destination. */
static void ask_all(struct resolve *resolve, struct target *target)
{
    struct netlink *channel = resolve->channel;
    struct riptide_prefix address = address_in(&target->wanted.dst);
    uint32_t mark = resolve->plan->config.mark;

    ask(resolve, target, QUERY_MARKED,
        message_route_query(netlink_room(channel), &address, mark, IPPROTO_TCP));
    if (resolve->are_rules_asked[family_index(target->wanted.dst.family)]) {
        ask(resolve, target, QUERY_ANY,
            message_route_query(netlink_room(channel), &address, 0, 0));
        ask(resolve, target, QUERY_PLAIN,
            message_route_query(netlink_room(channel), &address, 0, IPPROTO_TCP));
    }
    if (target->is_probe && target->base)
        ask(resolve, target, QUERY_LINK,
            message_link_query(netlink_room(channel), target->base->route.ifindex));
}

int resolve_batch(struct plan *plan, struct netlink *channel)
{
    struct resolve resolve = { .plan = plan, .channel = channel };
    struct target *targets[RESOLVE_MAX_TARGETS];
    uint32_t n = 0;
    int r;

    for (int i = 0; i < 2; i++)
        resolve.are_rules_asked[i] = !rules_are_unconditional(&plan->seen[i]);
    while (n < RESOLVE_MAX_TARGETS && netlink_has_room(channel, MAX_QUERIES) &&
           (targets[n] = targets_take(&plan->targets, QUEUE_RESOLVE)))
        ask_all(&resolve, targets[n++]);
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
