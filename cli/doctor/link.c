/* SPDX-License-Identifier: MIT */
/*
 * The few attributes that doctor reads of links, queues and routes.
 */
#include "link.h"

#include "initcwnd.h"

#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <string.h>
#include <sys/socket.h>

static bool is_vrf_info(const struct nlattr *info)
{
    const struct nlattr *attribute;
    char kind[16];
    int remaining;

    nla_for_each_nested(attribute, info, remaining)
    {
        if (nla_type(attribute) == IFLA_INFO_KIND) {
            nla_strlcpy(kind, attribute, sizeof(kind));
            return strcmp(kind, "vrf") == 0;
        }
    }
    return false;
}

void links_add(struct links *links, const struct nlmsghdr *message)
{
    const struct ifinfomsg *header = nlmsg_data(message);
    struct link *link = &links->list[links->n];
    const struct nlattr *attribute;
    int remaining;

    if (message->nlmsg_type != RTM_NEWLINK || links->n == LINKS_MAX ||
        !nlmsg_valid_hdr(message, sizeof(*header)))
        return;
    *link = (struct link){
        .ifindex = (uint32_t)header->ifi_index,
        .is_up = header->ifi_flags & IFF_UP,
        .is_loopback = header->ifi_flags & IFF_LOOPBACK,
    };
    nlmsg_for_each_attr(attribute, message, sizeof(*header), remaining)
    {
        switch (nla_type(attribute)) {
        case IFLA_IFNAME:
            nla_strlcpy(link->name, attribute, sizeof(link->name));
            break;
        case IFLA_QDISC:
            nla_strlcpy(link->queue, attribute, sizeof(link->queue));
            break;
        case IFLA_LINKINFO:
            link->is_vrf = is_vrf_info(attribute);
            break;
        }
    }
    links->n++;
}

void links_add_queue(struct links *links, const struct nlmsghdr *message)
{
    const struct tcmsg *header = nlmsg_data(message);
    const struct nlattr *attribute;
    char kind[IF_NAMESIZE] = "";
    int remaining;

    if (message->nlmsg_type != RTM_NEWQDISC || !nlmsg_valid_hdr(message, sizeof(*header)) ||
        header->tcm_parent == TC_H_ROOT || header->tcm_parent == TC_H_INGRESS)
        return;
    nlmsg_for_each_attr(attribute, message, sizeof(*header), remaining)
    {
        if (nla_type(attribute) == TCA_KIND)
            nla_strlcpy(kind, attribute, sizeof(kind));
    }
    for (size_t i = 0; i < links->n; i++) {
        if (links->list[i].ifindex != (uint32_t)header->tcm_ifindex)
            continue;
        links->list[i].n_children++;
        links->list[i].n_fq_children += strcmp(kind, "fq") == 0;
    }
}

bool link_is_paced(const struct link *link)
{
    return strcmp(link->queue, "fq") == 0 ||
           (link->n_children > 0 && link->n_fq_children == link->n_children);
}

void main_routes_add(struct main_routes *routes, const struct nlmsghdr *message)
{
    const struct rtmsg *header = nlmsg_data(message);
    struct riptide_prefix dst = { .family = 0 };
    const struct nlattr *attribute;
    uint32_t initcwnd = 0;
    int address_bytes;
    int remaining;

    if (message->nlmsg_type != RTM_NEWROUTE || !nlmsg_valid_hdr(message, sizeof(*header)) ||
        header->rtm_table != RT_TABLE_MAIN || (header->rtm_flags & RTM_F_CLONED))
        return;
    dst.family = header->rtm_family;
    dst.len = header->rtm_dst_len;
    address_bytes = dst.family == AF_INET ? 4 : 16;
    nlmsg_for_each_attr(attribute, message, sizeof(*header), remaining)
    {
        if (nla_type(attribute) == RTA_METRICS)
            initcwnd = initcwnd_find(attribute);
        else if (nla_type(attribute) == RTA_DST && nla_len(attribute) == address_bytes)
            memcpy(dst.addr, nla_data(attribute), (size_t)address_bytes);
    }
    if (initcwnd == 0)
        return;
    if (routes->n_windows++ == 0) {
        routes->example = dst;
        routes->example_initcwnd = initcwnd;
    }
    routes->n_hosts += dst.len == 8 * address_bytes;
}
