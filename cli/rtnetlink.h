/* SPDX-License-Identifier: MIT */
/*
 * One question to the kernel about links, queues or routes, and its answer.
 */
#ifndef CLI_RTNETLINK_H
#define CLI_RTNETLINK_H

#include <linux/netlink.h>

struct nl_msg;

typedef void rtnetlink_message_fn(void *userdata, const struct nlmsghdr *message);

/*
 * Sends the request, which is freed (NULL stands for an allocation that failed), and hands out each
 * message of a dump, or the one that answers a query.
 * Errors: -ENOMEM, those of the kernel, socket(2), send(2) and recv(2); -EINTR where what was
 * dumped changed meanwhile.
 */
int rtnetlink_ask(struct nl_msg *request, rtnetlink_message_fn *on_message, void *userdata);

#endif
