/* SPDX-License-Identifier: MIT */
/*
 * The router's parts, shared by router.c (what the host calls) and the rooms that do the work.
 */
#ifndef RIPTIDE_LIB_APPLY_ROUTER_H
#define RIPTIDE_LIB_APPLY_ROUTER_H

#include "bases.h"
#include "netlink.h"
#include "links.h"
#include "prefix.h"
#include "rule.h"
#include "scan.h"
#include "targets.h"

#include <riptide/apply.h>
#include <sys/types.h>

/* Our rules in one family. */
struct rule_state {
    bool is_in_place;
    bool is_lifted; /* the one that looks up our table is gone for a while, the other stands */
    struct rule_place place;
    const char *reason; /* why they cannot be in place, static; NULL: they can */
};

struct riptide_router {
    pid_t pid; /* of the process that made it */
    struct riptide_router_config config;
    struct rule_identity identity;
    struct netlink channel; /* requests */
    struct netlink dumps;   /* another socket: a dump under way is no obstacle to a request */
    struct mnl_socket *notifications;
    int epoll_fd;
    int work_fd; /* eventfd: readable while there is work */
    bool has_work;
    bool is_readable; /* the eventfd, because of it */
    bool is_started;
    bool is_paused;
    int lock_fd;  /* -1: not started, or dry_run */
    int netns_fd; /* -1: the thread's own */
    struct targets targets;
    struct bases bases;
    struct links links;
    struct scan scan;
    bool is_pass_wanted;          /* events touched targets, or a scan is wanted */
    enum scan_extent scan_wanted; /* what the next pass begins with */
    bool is_pass_under_way;       /* what was touched is being put right */
    uint32_t pass_cost;           /* of the passes since the last round; see work.c */
    bool is_contest_doubted;      /* some target is left alone for one that may have ended */
    uint8_t n_rounds_trusted;     /* until main is read for that */
    uint32_t probe_slot;   /* where the next round looks for targets to probe */
    uint32_t least_life_s; /* a base that ends earlier is left alone */
    bool has_failures;     /* some target is_failed */
    uint32_t n_setbacks;   /* dispatches in a row that began anew for want of something */
    struct rule_state rules[2];
    struct riptide_router_stats stats;
    struct riptide_route popped;
};

/* Where its base's initcwnd is not the one that was told, it waits for router_take_base. */
void router_note_base(struct riptide_router *router, uint32_t slot);

/* How long it is from one riptide_router_retry to the next. */
void router_set_round(struct riptide_router *router, uint64_t round_ns);

/* A target that needs no route, as its base does, is left alone: said once, or as news. */
void router_note_at_base(struct riptide_router *router, uint32_t slot, bool is_news);

/*
 * Takes the next destination whose connections start with another initcwnd without us than was told
 * before: the one that its base route has, segments; 0: none that is known. Returns false where
 * there is none.
 */
bool router_take_base(struct riptide_router *router, struct riptide_prefix *dst,
                      uint32_t *initcwnd);

/* The target as the host sees it. */
void router_describe(const struct riptide_router *router, const struct target *target,
                     struct riptide_route *route);

#endif
