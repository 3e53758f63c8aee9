/* SPDX-License-Identifier: MIT */
/*
 * Links and their queues, as far as doctor asks: rtnetlink messages in, figures out. Pure.
 */
#ifndef CLI_DOCTOR_LINK_H
#define CLI_DOCTOR_LINK_H

#include <linux/netlink.h>
#include <net/if.h>
#include <riptide/riptide.h>

/* How many links are looked at; a host that has more has them alike. */
#define LINKS_MAX 256

struct link {
    uint32_t ifindex;
    char name[IF_NAMESIZE];
    bool is_up;
    bool is_loopback;
    bool is_vrf;
    char queue[IF_NAMESIZE]; /* kind of the root qdisc; empty: not known */
    uint32_t n_children;     /* qdiscs below the root, and of those fq */
    uint32_t n_fq_children;
};

struct links {
    int error;
    struct link list[LINKS_MAX];
    size_t n;
};

/* One RTM_NEWLINK, RTM_NEWQDISC of a dump; links come before their queues. */
void links_add(struct links *links, const struct nlmsghdr *message);
void links_add_queue(struct links *links, const struct nlmsghdr *message);

/* Whether what leaves through the link is spaced out by its queue. */
bool link_is_paced(const struct link *link);

#endif
