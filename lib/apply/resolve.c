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

/*
 * A destination is asked for once, by TCP with our mark. Rules that tell marks or protocols apart
 * stand before ours, so that whatever comes to ours would come to main, and main knows neither. In
 * a probe the link is asked for as well: the MTU that IPv6 has for it may be set by a router or a
 * sysctl.
 */
enum { MAX_QUERIES = 2 };

struct resolve {
    struct plan *plan;
    uint32_t n_asked;
    uint32_t n_answered; /* or lost: answers come in the order of the queries */
    struct {
        struct target *target;
        bool is_link;
    } asked[RESOLVE_MAX_TARGETS * MAX_QUERIES];
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

/* Why main's answer cannot be carried over, beyond what the answer itself tells. NULL: it can. */
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

/* An answer of NULL did not fit. */
static void note_answer(struct resolve *resolve, struct target *target,
                        const struct nlmsghdr *answer, bool is_refused)
{
    struct plan *plan = resolve->plan;
    const struct base *before = target->base;
    const char *reason = base_malformed;
    struct base base;

    if (answer && base_parse(&base, &target->wanted.dst, answer, plan->least_life_s, &reason))
        reason = main_reason(plan, target, &base);
    else
        plan->stats.malformed += reason == base_malformed;
    if (targets_set_base(&plan->targets, target, &base, reason) < 0)
        is_refused = true;
    target->is_failed = is_refused;
    plan->has_failures |= is_refused;
    resolve->has_probe_moved |= target->is_probe && before != target->base;
    target->is_probe = false;
    target_set_failure(target, 0, NULL);
    plan_note_base(plan, target);
    targets_push(&plan->targets, QUEUE_WRITE, target);
}

/* A link that has gone was announced. */
static void note_link(struct resolve *resolve, const struct nlmsghdr *answer)
{
    int r = answer ? links_take(&resolve->plan->links, answer) : -EBADMSG;

    resolve->plan->stats.malformed += r < 0;
    resolve->has_probe_moved |= r > 0;
}

static void take(struct resolve *resolve, const struct nlmsghdr *answer, int error)
{
    uint32_t n = resolve->n_answered++;

    if (resolve->asked[n].is_link)
        note_link(resolve, answer);
    else
        note_answer(resolve, resolve->asked[n].target, answer, error && !base_is_answer(error));
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
        take(resolve, NULL, 0);
    if (!is_end && resolve->n_answered == n)
        take(resolve, answer, error);
}

static void ask(struct resolve *resolve, struct netlink *channel, struct target *target)
{
    struct riptide_prefix address = address_in(&target->wanted.dst);

    resolve->asked[resolve->n_asked++].target = target;
    netlink_add(channel, message_route_query(netlink_room(channel), &address,
                                             resolve->plan->config.mark, IPPROTO_TCP));
    if (!target->is_probe || !target->base)
        return;
    resolve->asked[resolve->n_asked++].is_link = true;
    netlink_add(channel,
                message_link_query(netlink_room(channel), target->base->route.ifindex));
}

int resolve_batch(struct plan *plan, struct netlink *channel)
{
    struct resolve resolve = { .plan = plan };
    struct target *targets[RESOLVE_MAX_TARGETS];
    uint32_t n = 0;
    int r;

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
