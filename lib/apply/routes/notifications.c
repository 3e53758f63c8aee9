/* SPDX-License-Identifier: MIT */
/* The socket of the kernel's notifications: what it hears, and one buffer of it read. */
#include "apply/routes/router.h"
#include "internal.h"

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
int notifications_open(struct router *router)
{
    uint32_t own_port = mnl_socket_get_portid(router->channel.socket);
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct nlmsghdr, nlmsg_pid)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(own_port), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
    };
    struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };
    int r = netlink_open(&router->notifications, NETLINK_ROUTE, NOTIFICATION_QUEUE_BYTES);

    if (r < 0)
        return r;
    r = setsockopt(mnl_socket_get_fd(router->notifications), SOL_SOCKET, SO_ATTACH_FILTER, &program,
                   sizeof(program));
    return r < 0 ? -errno : 0;
}

int notifications_subscribe(struct router *router, bool is_on)
{
    static const int groups[] = {
        RTNLGRP_LINK,      RTNLGRP_IPV4_ROUTE,   RTNLGRP_IPV6_ROUTE,   RTNLGRP_IPV4_RULE,
        RTNLGRP_IPV6_RULE, RTNLGRP_IPV4_NETCONF, RTNLGRP_IPV6_NETCONF, RTNLGRP_NEXTHOP,
    };
    int option = is_on ? NETLINK_ADD_MEMBERSHIP : NETLINK_DROP_MEMBERSHIP, r = 0;

    for (size_t i = 0; r == 0 && i < sizeof(groups) / sizeof(groups[0]); i++) {
        r = netlink_set_option(router->notifications, option, groups[i]);
        /* RTNLGRP_NEXTHOP needs Linux 5.3; without it there are no objects. */
        if (groups[i] == RTNLGRP_NEXTHOP)
            r = 0;
    }
    return r;
}

int notifications_read(struct router *router)
{
    _Alignas(struct nlmsghdr) char buffer[NOTIFICATION_BYTES];
    struct netlink_walk walk = { (void *)buffer, 0 };
    const struct nlmsghdr *message;
    int r = netlink_receive(router->notifications, buffer, sizeof(buffer), &walk.left);

    if (r == RIPTIDE_E_AGAIN)
        return 0;
    if (r < 0 && r != -ENOBUFS && r != -EMSGSIZE)
        return r;
    while ((message = netlink_next_message(&walk)))
        plan_follow(router, message);
    router->stats.overruns += r == -ENOBUFS;
    router->stats.malformed += r == RIPTIDE_E_INVALID || r == -EMSGSIZE || walk.left > 0;
    /* Anything may have changed, unless another process sent it (RIPTIDE_E_INVALID). */
    if (r < 0 || walk.left > 0)
        plan_resync(router);
    return 1;
}
