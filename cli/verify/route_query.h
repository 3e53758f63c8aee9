/* SPDX-License-Identifier: MIT */
/*
 * The kernel's route for one connection, all that rules can look at included: request and answer.
 * Pure.
 */
#ifndef CLI_VERIFY_ROUTE_QUERY_H
#define CLI_VERIFY_ROUTE_QUERY_H

#include "judge.h"

#include <linux/netlink.h>

/*
 * The request, with what is set of source and ports, in a room for one. `uid` is the caller's,
 * ifindex that of probe->interface or 0.
 */
struct nlmsghdr *route_query_put(void *room, const struct probe *probe, uint32_t uid,
                                 uint32_t ifindex);

/* Reads the answer: answer->error is the kernel's, or -EBADMSG where it is no route. */
void route_query_read(const struct nlmsghdr *message, struct route_answer *answer);

#endif
