/* SPDX-License-Identifier: MIT */
/*
 * Any message as a notification: what it touches is what libnl finds in it, and only what is known
 * to touch no route of ours is passed over. What it says of a link is remembered, and a router with
 * a few destinations takes all of it in.
 */
#include "apply/event.h"

#include "messages.h"
#include "prefix.h"
#include "target.h"
#include "tools.h"

#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/netconf.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <sys/socket.h>

enum { TABLE = 7230, PROTOCOL = 230 };

static struct nlattr *find(const struct nlmsghdr *message, size_t header_bytes, int type)
{
    return nlmsg_find_attr((struct nlmsghdr *)message, (int)header_bytes, type);
}

static void check_prefix(const struct riptide_prefix *prefix, uint8_t family,
                         const struct nlattr *address)
{
    CASE_CHECK(address && prefix->family == family);
    CASE_CHECK(prefix->len == prefix_family_bits(family) && nla_len(address) == prefix->len / 8);
    CASE_CHECK(memcmp(prefix->addr, nla_data(address), (size_t)nla_len(address)) == 0);
}

static void check_route(const struct event *event, const struct nlmsghdr *message)
{
    struct route route;

    if (route_parse(&route, message) < 0)
        CASE_CHECK(event->kind == EVENT_ALL);
    else if (event->kind == EVENT_NOTHING)
        CASE_CHECK(route.is_cached);
    else
        CASE_CHECK(event->kind == (route.table != TABLE         ? EVENT_PREFIX
                                   : route.protocol == PROTOCOL ? EVENT_OURS
                                                                : EVENT_FOREIGN) &&
                   riptide_prefix_equal(&event->prefix, &route.dst));
}

static void check_link(const struct event *event, const struct nlmsghdr *message)
{
    const struct ifinfomsg *link = nlmsg_data(message);

    CASE_CHECK(event->kind == EVENT_ALL ||
               (event->kind == EVENT_LINK && event->ifindex == (uint32_t)link->ifi_index));
}

/* What is said of a link is found again, and each stands there once. */
static void check_links(struct links *links, const struct nlmsghdr *message)
{
    int r = links_take(links, message);
    const struct ifinfomsg *link = nlmsg_data(message);
    const struct nlattr *mtu;

    for (uint32_t i = 1; i < links->n; i++)
        CASE_CHECK(links->list[i - 1].ifindex != links->list[i].ifindex);
    if (r != 0 || message->nlmsg_type != RTM_NEWLINK || link->ifi_family != AF_UNSPEC)
        return;
    mtu = find(message, sizeof(*link), IFLA_MTU);
    CASE_CHECK(mtu && nla_len(mtu) == sizeof(uint32_t));
    CASE_CHECK(links_mtu_at(links, (uint32_t)link->ifi_index, AF_INET) ==
               (nla_get_u32(mtu) > 65520 ? 0 : nla_get_u32(mtu)));
}

static void check_address(const struct event *event, const struct nlmsghdr *message)
{
    const struct ifaddrmsg *header = nlmsg_data(message);
    const struct nlattr *local = find(message, sizeof(*header), IFA_LOCAL);

    CASE_CHECK(event->kind == EVENT_ALL || event->kind == EVENT_ADDRESS);
    if (event->kind == EVENT_ALL)
        return;
    CASE_CHECK(event->ifindex == header->ifa_index);
    check_prefix(&event->prefix, header->ifa_family,
                 local ? local : find(message, sizeof(*header), IFA_ADDRESS));
}

static void check_neighbour(const struct event *event, const struct nlmsghdr *message)
{
    const struct ndmsg *header = nlmsg_data(message);

    CASE_CHECK(event->kind == EVENT_NOTHING || event->kind == EVENT_NEIGHBOUR);
    if (event->kind == EVENT_NOTHING)
        return;
    CASE_CHECK(event->ifindex == (uint32_t)header->ndm_ifindex);
    CASE_CHECK(!event->is_failed || (message->nlmsg_type == RTM_NEWNEIGH));
    check_prefix(&event->prefix, AF_INET6, find(message, sizeof(*header), NDA_DST));
}

static void check_netconf(const struct event *event, const struct nlmsghdr *message)
{
    const struct nlattr *ifindex = find(message, sizeof(struct netconfmsg), NETCONFA_IFINDEX);

    if (event->kind == EVENT_NOTHING)
        CASE_CHECK(ifindex && (int32_t)nla_get_u32(ifindex) == NETCONFA_IFINDEX_DEFAULT);
    else if (event->kind == EVENT_LINK)
        CASE_CHECK(ifindex && nla_get_u32(ifindex) == event->ifindex);
    else
        CASE_CHECK(event->kind == EVENT_ALL);
}

static void check(const struct event *event, const struct nlmsghdr *message)
{
    switch (message->nlmsg_type) {
    case RTM_NEWROUTE:
    case RTM_DELROUTE:
        check_route(event, message);
        break;
    case RTM_NEWLINK:
    case RTM_DELLINK:
        check_link(event, message);
        break;
    case RTM_DELADDR:
        check_address(event, message);
        break;
    case RTM_NEWNEIGH:
    case RTM_DELNEIGH:
        check_neighbour(event, message);
        break;
    case RTM_NEWNETCONF:
    case RTM_DELNETCONF:
        check_netconf(event, message);
        break;
    default: /* rules, next hops, and what there may be one day */
        CASE_CHECK(event->kind == (message->nlmsg_type == RTM_NEWADDR ? EVENT_NOTHING : EVENT_ALL));
    }
}

static void want_some(struct plan *plan)
{
    static const struct riptide_prefix some[] = { { AF_INET, 32, { 10, 0, 0, 7 } },
                                                  { AF_INET, 8, { 10 } },
                                                  { AF_INET6, 128, { 0x20, 1, 0xd, 0xb8 } },
                                                  { AF_INET6, 16, { 0x20, 1 } } };

    for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
        const struct riptide_wanted wanted = { .dst = some[i], .initcwnd = 40 };

        CASE_CHECK(plan_want(plan, &wanted) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct case_bytes bytes = { data, n };
    struct riptide_router_config config;
    struct links links = { 0 };
    struct nlmsghdr *message;
    struct event event;
    struct plan plan;

    riptide_router_config_init(&config, sizeof(config));
    plan_init(&plan, &config);
    want_some(&plan);
    while ((message = messages_next(&bytes))) {
        event = event_parse(message, TABLE, PROTOCOL);
        check(&event, message);
        check_links(&links, message);
        CASE_CHECK(event_follow(&plan, message) == 0);
        CASE_CHECK(event.kind != EVENT_ALL || plan.pass.extent == SCAN_ALL);
        free(message);
    }
    links_forget(&links);
    plan_deinit(&plan);
    return 0;
}
