/* SPDX-License-Identifier: MIT */
/*
 * The few attributes that doctor reads of links and queues.
 */
#include "host.h"

#include "lib/netlink.h"

#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static void copy_name(char name[IF_NAMESIZE], const struct nlattr *attr)
{
    snprintf(name, IF_NAMESIZE, "%.*s", mnl_attr_get_payload_len(attr),
             (const char *)mnl_attr_get_payload(attr));
}

static bool is_vrf_info(const struct nlattr *info)
{
    const struct nlattr *attr = netlink_find(netlink_nested(info), IFLA_INFO_KIND);
    char kind[IF_NAMESIZE] = "";

    if (attr)
        copy_name(kind, attr);
    return strcmp(kind, "vrf") == 0;
}

void links_add(struct links *links, const struct nlmsghdr *message)
{
    const struct ifinfomsg *header = mnl_nlmsg_get_payload(message);
    struct link *link = &links->list[links->n];
    struct netlink_attrs attrs = netlink_attrs(message, sizeof(*header));
    const struct nlattr *attr;

    if (message->nlmsg_type != RTM_NEWLINK || links->n == LINKS_MAX ||
        !netlink_has_header(message, sizeof(*header)))
        return;
    *link = (struct link){
        .ifindex = (uint32_t)header->ifi_index,
        .is_up = header->ifi_flags & IFF_UP,
        .is_loopback = header->ifi_flags & IFF_LOOPBACK,
    };
    while ((attr = netlink_next(&attrs))) {
        switch (mnl_attr_get_type(attr)) {
        case IFLA_IFNAME:
            copy_name(link->name, attr);
            break;
        case IFLA_QDISC:
            copy_name(link->queue, attr);
            break;
        case IFLA_LINKINFO:
            link->is_vrf = is_vrf_info(attr);
            break;
        }
    }
    links->n++;
}

void links_add_queue(struct links *links, const struct nlmsghdr *message)
{
    const struct tcmsg *header = mnl_nlmsg_get_payload(message);
    char kind[IF_NAMESIZE] = "";
    const struct nlattr *attr;

    if (message->nlmsg_type != RTM_NEWQDISC || !netlink_has_header(message, sizeof(*header)) ||
        header->tcm_parent == TC_H_ROOT || header->tcm_parent == TC_H_INGRESS)
        return;
    attr = netlink_find(netlink_attrs(message, sizeof(*header)), TCA_KIND);
    if (attr)
        copy_name(kind, attr);
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
