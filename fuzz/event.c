/* SPDX-License-Identifier: MIT */
/*
 * Any message as a notification to a router with a few destinations: those that are affected, by
 * libnl and a comparison with every prefix, wait to be queried again, and only messages that affect
 * no route of ours are ignored. Links are recorded once each, in order.
 */
#include "apply/routes/plan.h"

#include "messages.h"
#include "prefix.h"
#include "target.h"
#include "tools.h"

#include <linux/if_link.h>
#include <linux/netconf.h>
#include <netlink/msg.h>
#include <sys/socket.h>

static struct nlattr *find(const struct nlmsghdr *message, size_t header_bytes, int type)
{
    return nlmsg_find_attr((struct nlmsghdr *)message, (int)header_bytes, type);
}

/* Whether all destinations of that family are asked again; AF_UNSPEC: of both. */
static bool is_all(const struct plan *plan, uint8_t family)
{
    for (uint32_t i = 0; i < plan->targets.n; i++) {
        const struct target *target = plan->targets.list[i];

        if (!target->must_ask &&
            (family == AF_UNSPEC || target->wanted.dst.family == family))
            return false;
    }
    return true;
}

static void check_route(const struct plan *plan, const struct nlmsghdr *message)
{
    struct route route;

    if (route_parse(&route, message) < 0) {
        CASE_CHECK(plan->scan_wanted == SCAN_ALL && is_all(plan, AF_UNSPEC));
        return;
    }
    if (route.is_cached)
        return;
    if (route.table == plan->config.table) {
        CASE_CHECK(plan->scan_wanted & SCAN_ROUTES);
        return;
    }
    for (uint32_t i = 0; i < plan->targets.n; i++) {
        const struct target *target = plan->targets.list[i];

        if (riptide_prefix_contains(&route.dst, &target->wanted.dst))
            CASE_CHECK(target->must_ask);
    }
}

/* A link is found again, and each is recorded once. */
static void check_links(struct routing *routing, const struct nlmsghdr *message)
{
    int r;
    const struct ifinfomsg *link = nlmsg_data(message);
    const struct nlattr *mtu;

    if (message->nlmsg_type != RTM_NEWLINK && message->nlmsg_type != RTM_DELLINK)
        return;
    r = routing_take_link(routing, message);
    if (r < 0 || message->nlmsg_type != RTM_NEWLINK || link->ifi_family != AF_UNSPEC)
        return;
    mtu = find(message, sizeof(*link), IFLA_MTU);
    CASE_CHECK(mtu && nla_len(mtu) == sizeof(uint32_t));
    CASE_CHECK(routing_mtu(routing, (uint32_t)link->ifi_index, AF_INET) ==
               (nla_get_u32(mtu) > 65520 ? 0 : nla_get_u32(mtu)));
}

static void check(const struct plan *plan, const struct nlmsghdr *message)
{
    const struct nlattr *ifindex;

    switch (message->nlmsg_type) {
    case RTM_NEWROUTE:
    case RTM_DELROUTE:
        check_route(plan, message);
        break;
    case RTM_NEWLINK:
    case RTM_DELLINK:
    case RTM_NEWADDR:
    case RTM_DELADDR: /* no destination has a base route that could lose it */
        break;
    case RTM_NEWNETCONF:
    case RTM_DELNETCONF:
        ifindex = find(message, sizeof(struct netconfmsg), NETCONFA_IFINDEX);
        CASE_CHECK(is_all(plan, AF_UNSPEC) ||
                   (ifindex && (int32_t)nla_get_u32(ifindex) != NETCONFA_IFINDEX_ALL));
        break;
    default: /* rules, next hops, and future types */
        CASE_CHECK(is_all(plan, AF_UNSPEC));
    }
}

static void want_some(struct plan *plan)
{
    static const struct riptide_prefix some[] = { { AF_INET, 32, { 10, 0, 0, 7 } },
                                                  { AF_INET6, 128, { 0x20, 1, 0xd, 0xb8 } } };

    for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
        const struct riptide_wanted wanted = { .dst = some[i], .initcwnd = 40 };

        CASE_CHECK(plan_want(plan, &wanted) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct case_bytes bytes = { data, n };
    struct riptide_applier_config config;
    struct routing routing = { 0 };
    struct nlmsghdr *message;
    struct plan plan;

    riptide_applier_config_init(&config, sizeof(config));
    plan_init(&plan, &config);
    want_some(&plan);
    while ((message = messages_next(&bytes))) {
        for (uint32_t i = 0; i < plan.targets.n; i++)
            plan.targets.list[i]->must_ask = false;
        plan.all_touched[0] = plan.all_touched[1] = TOUCH_NONE;
        plan.scan_wanted = 0;
        plan_follow(&plan, message);
        check(&plan, message);
        check_links(&routing, message);
        free(message);
    }
    routing_deinit(&routing);
    plan_deinit(&plan);
    return 0;
}
