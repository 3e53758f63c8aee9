/* SPDX-License-Identifier: MIT */
/*
 * What is wanted, what has to be asked again, and what that may cost; what notifications concern.
 * The kernel does not announce IPv4 routes that go with their device, source address or next-hop
 * object. The events of these are followed instead; that of an address is RTM_DELROUTE of its local
 * route.
 */
#include "apply/routes/router.h"

#include "internal.h"
#include "prefix.h"

#include <errno.h>
#include <linux/netconf.h>
#include <linux/nexthop.h>

enum { ROUND_S = 60 }; /* in which each destination is asked again */

void plan_init(struct router *router, const struct riptide_applier_config *config)
{
    router->config = *config;
    router->targets.max = config->max_windows;
    router->removed.table = config->table;
    for (int i = 0; i < 2; i++)
        router->own[i].rule = (struct rule){ .family = families[i], .table = config->table };
}

void plan_deinit(struct router *router)
{
    targets_deinit(&router->targets);
    routing_deinit(&router->routing);
    rules_deinit(&router->seen[0]);
    rules_deinit(&router->seen[1]);
}

/*
 * Whether the namespace's first rule would change the routing of all its packets (routing.h).
 * local, main and default are there from the beginning: with another rule the tables are split.
 * Where they were split and have no rule any more, one of the two is without effect already.
 */
static int check_anyip(const struct router *router, struct riptide_error *error)
{
    char inside[RIPTIDE_PREFIX_TEXT_BYTES];
    const struct rules *rules = &router->seen[0];

    if (!router->routing.inside.family || rules->n > 3 || rules->n == 0 ||
        rules->list[0].table != RT_TABLE_LOCAL)
        return 0;
    riptide_prefix_format(&router->routing.inside, inside);
    error_set(error,
              "our rules would be the first of this namespace, after which the kernel no longer "
              "uses %s of main, which is inside a prefix of type local: delete one of the two",
              inside);
    return -EADDRINUSE;
}

int plan_check_place(const struct router *router, struct riptide_error *error)
{
    /* Such a kernel has one table, main, whatever number a route says. */
    if (router->seen[0].n + router->seen[1].n == 0) {
        error_set(error, "this kernel has no policy routing (CONFIG_IP_MULTIPLE_TABLES)");
        return -EOPNOTSUPP;
    }
    for (int i = 0; i < 2; i++) {
        uint32_t priority, table = router->config.table;
        const struct rules *rules = &router->seen[i];
        const struct rule *other = rules_find(rules, table, false);
        const enum riptide_reason reason = rules_place(rules, &priority);

        if (other) {
            error_set_field(error, "applier.table",
                            "in use by the rule of priority %u: change one of the two",
                            other->priority);
            return -EEXIST;
        }
        if (router->routing.has_foreign[i]) {
            error_set_field(error, "applier.table",
                            "table %u has routes of another protocol than %d: delete them, or "
                            "choose another table",
                            table, OUR_PROTOCOL);
            return -EEXIST;
        }
        /* A family that the kernel lacks has no rules. */
        if (reason && rules->n > 0) {
            error_set(error, "IPv%c: %s", i ? '6' : '4', reason_text(reason));
            return -EOPNOTSUPP;
        }
    }
    return check_anyip(router, error);
}

int plan_want(struct router *router, const struct riptide_wanted *wanted)
{
    struct target *target = targets_find(&router->targets, &wanted->dst);
    bool was_wanted;
    int r;

    if (!target && wanted->initcwnd == 0)
        return 0;
    if (!target) {
        r = targets_add(&router->targets, &wanted->dst, &target);
        if (r != 0)
            return r;
    }
    was_wanted = target->wanted.initcwnd > 0;
    target->wanted = *wanted;
    /* While it was not wanted nobody asked, and after an error asking is what tries it again. */
    if (!was_wanted || target->base_state != BASE_KNOWN || target->error != 0)
        targets_ask(&router->targets, target, ASK_NOW);
    targets_push(&router->targets, WORK_SYNC, target);
    router->has_work = true;
    return 0;
}

/* Before any destination is asked again. */
static void want_scan(struct router *router, uint32_t parts)
{
    router->scan_wanted |= parts;
    router->has_work = true;
}

void plan_remove_rules(struct router *router)
{
    router->own[0].must_remove = router->own[1].must_remove = router->is_claimed;
}

static void invalidate_target(struct router *router, struct target *target, enum change change)
{
    if (target->ask != ASK_NOW)
        router->budget--;
    targets_ask(&router->targets, target, ASK_NOW);
    if (change == CHANGE_ROUTE)
        target_set_stale(target);
    router->has_work = true;
    if (target->kernel != KERNEL_ABSENT)
        router->own[family_index(target->wanted.dst.family)].must_remove = router->is_claimed;
}

/*
 * Such a change may concern any destination inside `prefix`: they are asked again, and if one of
 * them has a route of ours, the rule of its family is removed first: one request, before many.
 */
static void invalidate_inside(struct router *router, const struct riptide_prefix *prefix,
                              enum change change)
{
    int i = family_index(prefix->family);
    uint32_t first, n;

    /* The rule is away, and all are asked after this event as well. */
    if (router->all_changed[i] >= change)
        return;
    first = targets_find_inside(&router->targets, prefix, &n);
    for (uint32_t k = first; k < first + n; k++)
        invalidate_target(router, router->targets.list[k], change);
    if (prefix->len == 0)
        router->all_changed[i] = change;
}

static void invalidate_all(struct router *router, enum change change)
{
    for (int i = 0; i < 2; i++)
        invalidate_inside(router, &(const struct riptide_prefix){ .family = families[i] }, change);
}

/* Likewise for those whose base route leaves by that link, or has that source (NULL: none). */
static void invalidate_link(struct router *router, uint32_t ifindex,
                            const struct riptide_prefix *source)
{
    for (uint32_t k = 0; k < router->targets.n; k++) {
        struct target *target = router->targets.list[k];
        const struct route *base;

        if (target->base_state != BASE_KNOWN)
            continue;
        base = &target->base->route;
        if (base->ifindex == ifindex || (source && prefix_equal(&base->prefsrc, source)))
            invalidate_target(router, target, CHANGE_ROUTE);
    }
}

void plan_resync(struct router *router)
{
    want_scan(router, SCAN_ALL);
    invalidate_all(router, CHANGE_ROUTE);
    plan_remove_rules(router);
}

/* Whether the turn of a destination, a second of the round, is among the next so many. */
static bool is_its_turn(const struct router *router, const struct riptide_prefix *dst,
                        uint32_t seconds)
{
    /* Of the address alone: whatever comes or goes, each keeps its turn. */
    const uint32_t turn = (0u + dst->addr[3] + dst->addr[7] + dst->addr[15]) % ROUND_S;
    const uint32_t seconds_until = (turn + ROUND_S - router->round) % ROUND_S;

    return seconds_until < seconds;
}

void plan_tick(struct router *router, uint32_t seconds)
{
    const bool has_flags =
        routing_reason(&router->routing, 0) || routing_reason(&router->routing, 1);
    struct targets *targets = &router->targets;

    router->budget += (int64_t)seconds * BUDGET_PER_S;
    if (router->budget > BUDGET_MAX)
        router->budget = BUDGET_MAX;
    if (targets->n == 0)
        return;
    for (uint32_t i = 0; i < targets->n; i++) {
        struct target *target = targets->list[i];

        if (target->ask == ASK_AT_TICK || is_its_turn(router, &target->wanted.dst, seconds))
            targets_ask(targets, target, ASK_NOW);
    }
    router->round = (router->round + seconds) % ROUND_S;
    router->has_work = true;
    /* In each round also links, whose MTU may change silently, and flags, which may have ended. */
    if (router->round < seconds)
        want_scan(router, SCAN_LINKS | (has_flags ? SCAN_ROUTES : 0));
}

/*
 * A flag that is new may be wrong, as the message does not tell which route was replaced: routes
 * are read once. So they are after another program's hand in our table, or the kernel's: ours is
 * written again if it is still wanted, and to a foreign one our rule would lead local TCP.
 */
static int follow_route(struct router *router, const struct nlmsghdr *message)
{
    const bool is_new = message->nlmsg_type == RTM_NEWROUTE;
    struct route route;
    enum riptide_reason reason_before;
    bool is_ours;
    int i, r = route_parse(&route, message);

    if (r < 0 || route.is_cached)
        return r;
    i = family_index(route.dst.family);
    is_ours = route.table == router->config.table;
    reason_before = routing_reason(&router->routing, i);
    if (is_new && route.table == RT_TABLE_MAIN)
        routing_follow(&router->routing, &route, message->nlmsg_flags);
    invalidate_inside(router, &route.dst, is_ours ? CHANGE_ROUTE : CHANGE_BASE);
    /* With an address go routes that have it as their source, with a link's last IPv4 one all. */
    if (!is_new && route.type == RTN_LOCAL)
        invalidate_link(router, route.ifindex, &route.dst);
    if (is_ours || routing_reason(&router->routing, i) != reason_before) {
        router->own[i].must_remove = router->is_claimed;
        want_scan(router, SCAN_ROUTES);
    }
    return 0;
}

int plan_follow_link(struct router *router, const struct nlmsghdr *message)
{
    const struct ifinfomsg *header = mnl_nlmsg_get_payload(message);
    int r = routing_take_link(&router->routing, message);

    if (r <= 0)
        return r;
    invalidate_link(router, (uint32_t)header->ifi_index, NULL);
    /* A route that was ignored without carrier may be used again. */
    if (router->routing.depends_on_carrier)
        invalidate_all(router, CHANGE_BASE);
    return 0;
}

/* Sysctls that change answers: which links count as dead, whether the host forwards. */
static int follow_netconf(struct router *router, const struct nlmsghdr *message)
{
    int ifindex = routing_take_netconf(&router->routing, message);

    if (ifindex == 0)
        return -EBADMSG;
    if (ifindex == NETCONFA_IFINDEX_ALL || router->routing.depends_on_carrier)
        invalidate_all(router, CHANGE_BASE);
    return 0;
}

static int follow(struct router *router, const struct nlmsghdr *message)
{
    const struct nhmsg *hop = mnl_nlmsg_get_payload(message);

    switch (message->nlmsg_type) {
    case RTM_NEWROUTE:
    case RTM_DELROUTE:
        return follow_route(router, message);
    case RTM_NEWLINK:
    case RTM_DELLINK:
        return plan_follow_link(router, message);
    case RTM_NEWNETCONF:
    case RTM_DELNETCONF:
        return follow_netconf(router, message);
    case RTM_NEWRULE:
    case RTM_DELRULE:
        want_scan(router, SCAN_RULES);
        break;
    default:
        /* The IPv6 routes of a next-hop object lead elsewhere, through any gateway. */
        if (!netlink_has_header(message, sizeof(*hop)) || hop->nh_family != AF_INET)
            want_scan(router, SCAN_ROUTES);
    }
    invalidate_all(router, CHANGE_BASE);
    return 0;
}

void plan_follow(struct router *router, const struct nlmsghdr *message)
{
    if (follow(router, message) < 0)
        plan_resync(router);
    /* A foreign route may have gone silently with whatever happened. */
    if (router->routing.has_foreign[0] || router->routing.has_foreign[1])
        want_scan(router, SCAN_ROUTES);
}
