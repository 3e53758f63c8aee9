/* SPDX-License-Identifier: MIT */
/*
 * Notifications of the kernel: what they mean for our routes, and what a router does about them.
 * Pure but for memory.
 */
#ifndef RIPTIDE_LIB_APPLY_EVENT_H
#define RIPTIDE_LIB_APPLY_EVENT_H

#include "plan.h"

enum event_kind {
    EVENT_NOTHING,   /* no route of ours depends on it */
    EVENT_PREFIX,    /* `route` came or went: what overlaps `prefix` is to be resolved */
    EVENT_OURS,      /* somebody touched our route to `prefix` */
    EVENT_FOREIGN,   /* a route of another protocol came into our table, or went */
    EVENT_LINK,      /* what leads through `ifindex` may have gone or come back */
    EVENT_ADDRESS,   /* as EVENT_LINK, and what has the source address `prefix` */
    EVENT_NEIGHBOUR, /* `prefix` on `ifindex` failed, or no longer does */
    EVENT_ALL,       /* anything may have moved */
};

struct event {
    enum event_kind kind;
    struct riptide_prefix prefix;
    struct route route;
    uint32_t ifindex;
    bool is_failed;
};

/* Reads a neighbour message; false where it is none. */
bool neighbour_parse(struct riptide_prefix *address, uint32_t *ifindex, bool *is_failed,
                     const struct nlmsghdr *message);

/* `table` and `protocol` are ours. What makes no sense may mean anything: EVENT_ALL. */
struct event event_parse(const struct nlmsghdr *message, uint32_t table, uint8_t protocol);

/* Takes in one notification. Errors: -ENOMEM. */
int event_follow(struct plan *plan, const struct nlmsghdr *message);

#endif
