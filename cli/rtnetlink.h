/* SPDX-License-Identifier: MIT */
/*
 * One question to the kernel about links, queues or routes, and its answer.
 */
#ifndef CLI_RTNETLINK_H
#define CLI_RTNETLINK_H

#include <linux/netlink.h>
#include <stddef.h>

struct nl_msg;

typedef void rtnetlink_message_fn(void *userdata, const struct nlmsghdr *message);

/*
 * Sends the request, which is freed (NULL stands for an allocation that failed), and hands out each
 * message of a dump, or the one that answers a query.
 * Errors: -ENOMEM, those of the kernel, socket(2), send(2) and recv(2); -EINTR where what was
 * dumped changed meanwhile.
 */
int rtnetlink_ask(struct nl_msg *request, rtnetlink_message_fn *on_message, void *userdata);

/* The i-th request; NULL without memory. */
typedef struct nl_msg *rtnetlink_request_fn(void *userdata, size_t i);

/*
 * Asks n questions with one answer each, many at a time, and hands out the answers, which may be
 * NLMSG_ERROR; nlmsg_seq is the number of the question. Errors: as rtnetlink_ask.
 */
int rtnetlink_ask_each(size_t n, rtnetlink_request_fn *request, rtnetlink_message_fn *on_answer,
                       void *userdata);

#endif
