/* SPDX-License-Identifier: MIT */
/* The socket for notifications; event.c says what they mean. */
#include "router.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>

enum {
    NOTIFICATION_BYTES = 32 * 1024,
    /* The kernel's queue: a storm of 10,000 route changes fits. */
    NOTIFICATION_QUEUE_BYTES = 16 * 1024 * 1024,
};

/*
 * Our own changes come back as notifications that carry our port. The kernel drops them before they
 * fill the queue: 10,000 routes would be 10,000 datagrams to read.
 */
static int ignore_own(int fd, uint32_t port)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct nlmsghdr, nlmsg_pid)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(port), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
    };
    const struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0 ? -errno : 0;
}

int watch_open(struct mnl_socket **socketp, uint32_t own_port)
{
    int r = netlink_open(socketp, NETLINK_ROUTE);

    if (r < 0)
        return r;
    netlink_set_queue(*socketp, NOTIFICATION_QUEUE_BYTES);
    return ignore_own(mnl_socket_get_fd(*socketp), own_port);
}

int watch_subscribe(struct mnl_socket *socket)
{
    static const int groups[] = {
        RTNLGRP_LINK,       RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE,
        RTNLGRP_IPV6_ROUTE, RTNLGRP_IPV4_RULE,   RTNLGRP_IPV6_RULE,   RTNLGRP_IPV4_NETCONF,
        RTNLGRP_NEXTHOP,    RTNLGRP_IPV6_NETCONF,
    };
    int r = 0;

    for (size_t i = 0; r == 0 && i < sizeof(groups) / sizeof(groups[0]); i++) {
        r = netlink_set_membership(socket, NETLINK_ADD_MEMBERSHIP, groups[i]);
        /* RTNLGRP_NEXTHOP needs Linux 5.3; without it there are no objects. */
        if (groups[i] == RTNLGRP_NEXTHOP)
            r = 0;
    }
    return r;
}

int watch_read(struct mnl_socket *socket, struct plan *plan)
{
    _Alignas(struct nlmsghdr) char buffer[NOTIFICATION_BYTES];
    struct netlink_messages walk = { (void *)buffer, 0 };
    const struct nlmsghdr *message;
    int r = netlink_receive(socket, buffer, sizeof(buffer), &walk.left);

    if (r == RIPTIDE_E_AGAIN)
        return 0;
    if (r < 0 && r != -ENOBUFS && r != -EMSGSIZE)
        return r;
    while ((message = netlink_next_message(&walk)))
        event_follow(plan, message);
    plan->stats.overruns += r == -ENOBUFS;
    plan->stats.malformed += r == RIPTIDE_E_INVALID || r == -EMSGSIZE || walk.left > 0;
    /* Anything may have changed, unless another process sent it (RIPTIDE_E_INVALID). */
    if (r < 0 || walk.left > 0)
        plan_distrust(plan);
    return 1;
}
