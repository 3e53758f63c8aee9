/*
 * Notifications to verdicts. Where the kernel is silent about what follows (IPv4 routes vanish with
 * their device, their source address or their next-hop object without a word), the event that it
 * does announce stands for all of it.
 */
#include "event.h"

#include "route.h"

#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

static struct event route_event(const struct nlmsghdr *message, uint32_t table)
{
    struct route route;

    if (route_parse(&route, message) < 0)
        return (struct event){ .kind = EVENT_ALL };
    if (route.is_cached)
        return (struct event){ .kind = EVENT_NOTHING };
    return (struct event){ .kind = route.table == table ? EVENT_OURS : EVENT_PREFIX,
                           .prefix = route.dst };
}

static struct event link_event(const struct nlmsghdr *message)
{
    const struct ifinfomsg *link = nlmsg_data(message);

    if (!nlmsg_valid_hdr(message, sizeof(*link)))
        return (struct event){ .kind = EVENT_ALL };
    return (struct event){ .kind = EVENT_LINK, .ifindex = (uint32_t)link->ifi_index };
}

static struct event address_event(const struct nlmsghdr *message)
{
    const struct ifaddrmsg *address = nlmsg_data(message);

    if (!nlmsg_valid_hdr(message, sizeof(*address)))
        return (struct event){ .kind = EVENT_ALL };
    return (struct event){ .kind = EVENT_LINK, .ifindex = address->ifa_index };
}

struct event event_parse(const struct nlmsghdr *message, uint32_t table)
{
    switch (message->nlmsg_type) {
    case RTM_NEWROUTE:
    case RTM_DELROUTE:
        return route_event(message, table);
    case RTM_NEWLINK:
    case RTM_DELLINK:
        return link_event(message);
    case RTM_DELADDR:
        return address_event(message);
    case RTM_NEWADDR:
        /* The routes that come with it are announced, and none goes. */
        return (struct event){ .kind = EVENT_NOTHING };
    default:
        return (struct event){ .kind = EVENT_ALL };
    }
}
