/* SPDX-License-Identifier: MIT */
/*
 * The state and the tasks of a router, without its sockets. Pure except for memory: events and the
 * kernel's answers add work, router.c says in which order it is done.
 */
#ifndef RIPTIDE_LIB_APPLY_PLAN_H
#define RIPTIDE_LIB_APPLY_PLAN_H

#include "rule.h"
#include "targets.h"

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

/* What a scan reads, as bits. */
enum scan_part {
    SCAN_LINKS = 1,
    SCAN_RULES = 2,
    SCAN_ROUTES = 4, /* of main and of our table, and sysctls */
    SCAN_ALL = 7,
};

/* What an event may have done to a destination. */
enum touch {
    TOUCH_NONE,
    TOUCH_BASE,  /* its base route may be another; */
    TOUCH_ROUTE, /* and our own route may be gone, or changed */
};

/* Our rule in one family. */
struct rule_state {
    bool is_in_place;
    bool must_remove; /* before any other work */
    struct rule rule;
    const char *reason; /* why it cannot be in place (static); NULL: it can */
};

struct plan {
    struct riptide_applier_config config;
    struct targets targets;
    struct routing routing;
    struct rules seen[2]; /* the host's rules, as of the last scan */
    struct rule_state own[2];
    uint32_t scan_wanted;      /* SCAN_...: of the next scan */
    uint32_t scanning;         /* SCAN_...: of the present one; 0: none is running */
    enum touch all_touched[2]; /* since the family's last query */
    int64_t budget;            /* no work is begun where it is not above 0 */
    uint32_t round;            /* seconds since all destinations were asked again, below ROUND_S */
    bool is_claimed; /* the namespace is claimed: rules and routes are written */
    bool has_work;   /* not all that was requested has taken effect */
    struct riptide_applier_stats stats;
    struct {
        uint32_t rules, routes, table;
    } removed;         /* of ours, what scans have found out of place; the first rule's table */
    int removal_error; /* the last one */
};

void plan_init(struct plan *plan, const struct riptide_applier_config *config);
void plan_deinit(struct plan *plan);

/* Records what is wanted. Outcomes and errors: those of targets_add. */
int plan_want(struct plan *plan, const struct riptide_wanted *wanted);

/* Requests a scan of these parts, before any destination is asked again. */
void plan_want_scan(struct plan *plan, uint32_t parts);

/* Until all routes are right again. */
void plan_remove_rules(struct plan *plan);

/* After an unknown change of anything: rules are removed, everything is read again. */
void plan_distrust(struct plan *plan);

/*
 * So many seconds have passed: refills the budget, and asks again what failed, and all destinations
 * within a minute, for what the kernel does not announce.
 */
void plan_tick(struct plan *plan, uint32_t seconds);

/* Processes a notification. A malformed one counts as any change. */
void plan_follow(struct plan *plan, const struct nlmsghdr *message);

/* Likewise a message about a link, of a dump as well. Errors: those of routing_take_link. */
int plan_follow_link(struct plan *plan, const struct nlmsghdr *message);

#endif
