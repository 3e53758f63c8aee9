/* SPDX-License-Identifier: MIT */
/*
 * The router: gives windows by routes. Errors are those of netlink.h unless stated otherwise. Its
 * dispatch needs up to 48 KB of stack: a datagram of notifications has 32 KB.
 */
#ifndef RIPTIDE_LIB_APPLY_ROUTER_H
#define RIPTIDE_LIB_APPLY_ROUTER_H

#include "apply/backend.h"
#include "apply/routes/routing.h"
#include "apply/routes/rule.h"
#include "apply/routes/targets.h"
#include "netlink.h"

#include <riptide/apply.h>

/*
 * Costs, in destinations that are asked and written; and what there is for them: less than a tenth
 * of a core. Where a storm of changes has used it up, the rule stays away until it is refilled.
 */
enum {
    COST_REMOVAL = 64,     /* of a rule */
    MESSAGES_PER_COST = 8, /* of dumps */
    BUDGET_MAX = 16384,
    BUDGET_PER_S = 8192,
};

/* What a scan reads: a bit for each dump. */
enum scan_part {
    SCAN_LINKS = 0x01,
    SCAN_RULES = 0x06,
    SCAN_ROUTES = 0xf8, /* of main and of our table, and sysctls */
    SCAN_ALL = 0xff,
};

/* What an event may have changed of a destination. */
enum change {
    CHANGE_NONE,
    CHANGE_BASE,  /* its base route may be another; */
    CHANGE_ROUTE, /* and our own route may be gone, or changed */
};

/* Our rule in one family. */
struct rule_state {
    bool is_in_place;
    bool must_remove; /* before any other work */
    struct rule rule;
    enum riptide_reason reason; /* why it cannot be in place */
    uint64_t since_ns;          /* when it was put in place */
};

struct router {
    struct backend backend;
    struct riptide_applier_config config;
    struct targets targets;
    struct routing routing;
    struct rules seen[2]; /* the host's rules, as of the last scan */
    struct rule_state own[2];
    uint32_t scan_wanted;       /* SCAN_...: of the next scan */
    uint32_t scanning;          /* likewise what the present one has left; 0: none is running */
    enum change all_changed[2]; /* since the family's last query */
    int64_t budget;             /* no work is begun where it is not above 0 */
    uint32_t round;             /* seconds since all destinations were asked again, below ROUND_S */
    bool is_claimed;            /* the namespace is claimed: rules and routes are written */
    bool has_work;              /* not all that was requested has taken effect */
    uint64_t now_ns;            /* CLOCK_BOOTTIME of the present start or dispatch */
    struct riptide_applier_stats stats;
    struct {
        uint32_t rules, routes, table;
    } removed;         /* of ours, what scans have found out of place; the first rule's table */
    int removal_error; /* the last one */

    struct netlink channel; /* for requests */
    struct netlink dumps;   /* of a scan: a socket of its own, as requests must not wait for it */
    struct mnl_socket *notifications; /* whose fd is readable for router_dispatch */
    bool is_asked;                    /* the request of a scan's present dump was sent */
    uint32_t n_scanned;               /* messages of scans so far */
    bool is_interrupted;              /* a change interrupted a dump */
    uint32_t n_setbacks; /* successive dispatches that began anew after a temporary error */
};

static inline struct router *router_of(const struct backend *backend)
{
    return (struct router *)backend;
}

/* Removes those of any process, whether it was started or not; `error` says which, as apply.h. */
int router_flush(struct router *router, struct riptide_error *error);

/*
 * Says how the connection of a sample opened, if it did by a route of ours: after both the route
 * and the rule that leads to it were there. now_ns: CLOCK_BOOTTIME.
 */
void router_annotate(const struct router *router, struct riptide_sample *sample, uint64_t now_ns);

/*
 * plan.c, pure except for memory: events and the kernel's answers add work, router.c says in which
 * order it is done. plan_init is for a router of zeros, and leaves its sockets to router_new.
 */
void plan_init(struct router *router, const struct riptide_applier_config *config);
void plan_deinit(struct router *router);

/* Whether our rules have a place, and change nothing but the windows of TCP: those of a start. */
int plan_check_place(const struct router *router, struct riptide_error *error);

/* Records what is wanted. Outcomes and errors: those of targets_add. */
int plan_want(struct router *router, const struct riptide_wanted *wanted);

/* Until all routes are right again. */
void plan_remove_rules(struct router *router);

/* After an unknown change of anything: rules are removed, everything is read again. */
void plan_resync(struct router *router);

/*
 * So many seconds have passed: refills the budget, and asks again what failed, and all destinations
 * within a minute, for what the kernel does not announce.
 */
void plan_tick(struct router *router, uint32_t seconds);

/* Processes a notification. A malformed one counts as any change. */
void plan_follow(struct router *router, const struct nlmsghdr *message);

/* Likewise a message about a link, of a dump as well. Errors: those of routing_take_link. */
int plan_follow_link(struct router *router, const struct nlmsghdr *message);

/*
 * scan.c: reads one buffer of the scan that is wanted. Where changes interrupted it, it wants
 * another. Deletes rules and routes of ours that are not as we have placed them. After an error it
 * can go on while `scanning` is not 0: a rule was not deleted.
 */
int scan_step(struct router *router);

/* In a batch: at most two queries or writes for each. */
enum { BATCH_MAX_TARGETS = BATCH_MAX_REQUESTS / 2 };

/* sync.c: asks for the base routes of n targets, of ASK_NOW. After an error some are set. */
int sync_resolve(struct router *router, struct target **targets, uint32_t n);

/* Asks and writes a batch of the targets that are due. After an error all of them stay due. */
int sync_targets(struct router *router);

/* Puts the rules of every family in place, or removes those of families that cannot have any. */
int sync_rules(struct router *router, struct riptide_error *error);

/* Deletes the rules that must go: local TCP uses main until sync_rules. */
int sync_remove(struct router *router);

/*
 * Deletes every rule of ours that a scan has found in families[i], unless it is in its place.
 * Errors: the first one; the others were tried.
 */
int sync_check_rules(struct router *router, int i);

/* notifications.c: opens their socket, to which the kernel sends none yet. */
int notifications_open(struct router *router);

/* While it is on notifications queue, up to 32 MB of the kernel's. */
int notifications_subscribe(struct router *router, bool is_on);

/* Reads one buffer of notifications. Returns 1 where there was one. */
int notifications_read(struct router *router);

#endif
