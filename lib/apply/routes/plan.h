/* SPDX-License-Identifier: MIT */
/*
 * The state and the tasks of a router, without its sockets. Pure except for memory: scan.c,
 * resolve.c and work.c fill it with the kernel's answers, sync.c executes it.
 */
#ifndef RIPTIDE_LIB_APPLY_PLAN_H
#define RIPTIDE_LIB_APPLY_PLAN_H

#include "main_table.h"
#include "rule.h"
#include "targets.h"

#include <riptide/apply.h>

/* How much a scan reads. */
enum scan_extent {
    SCAN_NOTHING,
    SCAN_RULES,
    SCAN_MAIN, /* competing routes of main */
    SCAN_ALL,  /* links, rules, our routes, main */
};

/* Our rules in one family. */
struct rule_state {
    bool is_in_place;
    bool is_lifted; /* the lookup rule is lifted, the goto is in place */
    bool must_lift; /* it must be lifted before any other work */
    struct rule_place place;
    const char *reason; /* why they cannot be in place (static); NULL: they can */
};

/* Routes of another protocol in our table: our rules would lead local TCP to them. */
struct foreign {
    uint32_t n;
    char text[160]; /* the first one, and the remedy */
};

/* The pass that corrects what events affected, and the next one. */
struct pass {
    bool is_wanted;          /* events affected targets, or a scan is wanted */
    enum scan_extent extent; /* of the scan at the beginning of the next pass */
    bool is_under_way;
    bool is_scanning;         /* while a scan lists our routes, some are not yet known */
    uint32_t cost;            /* of the passes since the last round; see plan.c */
    uint32_t n_messages;      /* that this scan has read */
    bool is_contest_doubted;  /* a target is left alone for a contest that may have ended */
    uint8_t n_rounds_trusted; /* until main is read to find out */
};

struct plan {
    struct riptide_applier_config config;
    struct rule_identity identity;
    struct targets targets;
    struct links links;
    struct main_table main;
    struct rules seen[2]; /* the host's rules, as of the last scan */
    char mark_reason[2][96]; /* why queries with our mark and without differ, by these rules */
    struct foreign foreign[2];
    uint32_t n_same_protocol; /* routes of main with our protocol */
    struct rule_state own[2];
    struct pass pass;
    uint32_t probe_slot;   /* where the next round continues to search for targets to probe */
    uint32_t least_life_s; /* a base route that ends earlier is left alone */
    bool is_claimed;       /* the namespace is claimed: rules and routes are written */
    bool has_work;
    struct riptide_applier_stats stats;
};

/* The properties by which rules and routes are ours. */
struct rule_identity router_config_identity(const struct riptide_applier_config *config);

/* Begins with a checked configuration. */
void plan_init(struct plan *plan, const struct riptide_applier_config *config);
void plan_deinit(struct plan *plan);

/* Discards the kernel state of all destinations; their wanted windows stay. Errors: -ENOMEM. */
int plan_forget_known(struct plan *plan);

/* Records what is wanted for a destination. Outcomes and errors: those of targets_get. */
int plan_want(struct plan *plan, const struct riptide_wanted *wanted);

/* Why our table must not be looked up in families[i], owned by the plan; NULL: no reason. */
const char *plan_foreign_reason(const struct plan *plan, int i);

/* Records a route of main: its links, and the targets inside it. */
void plan_note_main(struct plan *plan, const struct route *route, const struct nlmsghdr *message);

/* Requests a pass, after a scan of at least that extent. */
void plan_want_pass(struct plan *plan, enum scan_extent extent);

/* Lifts the rules of both families until all routes are right again. */
void plan_lift(struct plan *plan);

/* The change may have affected any route. */
void plan_touch_all(struct plan *plan);

/* An unknown change may have affected any route: rules are lifted until all was queried again. */
void plan_distrust(struct plan *plan);

/* Likewise after lost notifications, which are counted. */
void plan_overrun(struct plan *plan);

/* Whether the next pass may begin now; see plan.c. */
bool plan_may_begin_pass(const struct plan *plan);

/* Begins it: affected targets wait to be resolved. Returns the scan that comes before. */
enum scan_extent plan_begin_pass(struct plan *plan);

/* A scan of that extent has ended: counts its cost and queues the resulting work. */
void plan_end_scan(struct plan *plan, enum scan_extent extent);

/* Ends a pass, and requests reading main again where a contest may have ended. */
void plan_end_pass(struct plan *plan);

/* Sets the interval of rounds. */
void plan_set_round(struct plan *plan, uint64_t round_ns);

/* A regular round: repeats what failed, checks for changes without notification. */
void plan_round(struct plan *plan);

/* Pops the target if its base route's initcwnd has changed. */
void plan_note_base(struct plan *plan, struct target *target);

/* The target as the caller sees it. */
void plan_describe(const struct plan *plan, const struct target *target,
                   struct riptide_route *route);

/* Whether all that was requested has taken effect. */
bool plan_is_idle(const struct plan *plan);

/* The counters, with present values. */
void plan_count(const struct plan *plan, struct riptide_applier_stats *stats);

/* event.c: processes a notification. A malformed one counts as any change. Errors: -ENOMEM. */
int event_follow(struct plan *plan, const struct nlmsghdr *message);

/*
 * Records whether a neighbour has failed. Returns 1 if that is new and it is a gateway of main.
 * Errors: -EBADMSG, -ENOMEM.
 */
int event_note_neighbour(struct plan *plan, const struct nlmsghdr *message);

#endif
