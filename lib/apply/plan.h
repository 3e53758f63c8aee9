/* SPDX-License-Identifier: MIT */
/*
 * What a router knows and has to do: everything but its sockets. Pure but for memory: scan.c,
 * resolve.c and work.c fill it with the kernel's answers, sync.c does what it says.
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
    SCAN_MAIN, /* where main's routes compete */
    SCAN_ALL,  /* links, rules, our routes, main */
};

/* Our rules in one family. */
struct rule_state {
    bool is_in_place;
    bool is_lifted;   /* the one that looks up our table is gone for a while, the other stands */
    bool must_lift;   /* that one must go, before anything else is done */
    struct rule_place place;
    const char *reason; /* why they cannot be in place, static; NULL: they can */
};

/* Routes of another protocol in our table: our rules would show them to local TCP. */
struct foreign {
    uint32_t n;
    char text[160]; /* the first one, and the remedy */
};

/* The pass that puts right what events touched, and the next one. */
struct pass {
    bool is_wanted;          /* events touched targets, or a scan is wanted */
    enum scan_extent extent; /* of the scan that the next one begins with */
    bool is_under_way;
    bool is_scanning;        /* while a scan lists our routes not all of them are known */
    uint32_t cost;           /* of those since the last round; see plan.c */
    bool is_contest_doubted; /* some target is left alone for a contest that may have ended */
    uint8_t n_rounds_trusted; /* until main is read for that */
};

struct plan {
    struct riptide_router_config config;
    struct rule_identity identity;
    struct targets targets;
    struct links links;
    struct main_table main;
    struct rules seen[2]; /* rules of the host, as the last scan found them */
    struct foreign foreign[2];
    uint32_t n_same_protocol; /* routes of main with our protocol */
    struct rule_state own[2];
    struct pass pass;
    uint32_t probe_slot;   /* where the next round looks for targets to probe */
    uint32_t least_life_s; /* a base that ends earlier is left alone */
    bool is_claimed; /* the namespace is ours: rules and routes are written */
    bool has_work;
    struct riptide_router_stats stats;
    /*
     * The agent's, NULL without one: connections to `dst` start with another initcwnd without us
     * than it was called with before, the one that its base route has, segments; 0: none is known.
     */
    void (*on_base)(void *user, const struct riptide_prefix *dst, uint32_t initcwnd);
    void *user;
};

/* config.c: the caller's over the defaults. Errors: -EINVAL (size), -E2BIG, each with a line. */
int router_config_copy(struct riptide_router_config *copy,
                       const struct riptide_router_config *config, struct riptide_error *error);

/* Copies and checks. Errors: -EINVAL, -E2BIG, each with a line that names the field. */
int router_config_take(struct riptide_router_config *kept,
                       const struct riptide_router_config *config, struct riptide_error *error);

/* What makes rules and routes ours. */
struct rule_identity router_config_identity(const struct riptide_router_config *config);

/* Begins with a checked configuration. */
void plan_init(struct plan *plan, const struct riptide_router_config *config);
void plan_deinit(struct plan *plan);

/* Forgets what is known of all destinations; what is wanted for them stays. Errors: -ENOMEM. */
int plan_forget_known(struct plan *plan);

/* Takes another checked configuration, and queues the routes that it changes. */
void plan_reconfigure(struct plan *plan, const struct riptide_router_config *config);

/* Takes what is wanted for a destination. Outcomes and errors: those of targets_get. */
int plan_want(struct plan *plan, const struct riptide_wanted *wanted);

/* Why our table is not to be looked up in families[i]: the plan's; NULL: it holds ours alone. */
const char *plan_foreign_reason(const struct plan *plan, int i);

/* Takes in a route that main has: the links that it leads through, and the targets around it. */
void plan_note_main(struct plan *plan, const struct route *route, const struct nlmsghdr *message);

/* Asks for a pass that puts right what was touched, after a scan at least that wide. */
void plan_want_pass(struct plan *plan, enum scan_extent extent);

/* Without us, in both families, until all is right again. */
void plan_lift(struct plan *plan);

/* Whatever it was, it may have moved any route. */
void plan_touch_all(struct plan *plan);

/* What was not seen may have moved any route: without us until all was asked for again. */
void plan_distrust(struct plan *plan);

/* The same where notifications were lost, which is counted. */
void plan_overrun(struct plan *plan);

/* Whether the next pass may begin now; see plan.c. */
bool plan_may_begin_pass(const struct plan *plan);

/* Begins it: what was touched waits to be resolved. Returns the scan that comes before. */
enum scan_extent plan_begin_pass(struct plan *plan);

/* A scan of that extent has ended: what it cost, and what follows from it. */
void plan_end_scan(struct plan *plan, enum scan_extent extent);

/* Ends a pass, and reads main again where a contest may have ended. */
void plan_end_pass(struct plan *plan);

/* How long it is from one round to the next. */
void plan_set_round(struct plan *plan, uint64_t round_ns);

/* The host's regular round: tries again what failed, asks what the kernel does not announce. */
void plan_round(struct plan *plan);

/* Tells the agent where its base's initcwnd is not the one that it knows. */
void plan_note_base(const struct plan *plan, struct target *target);

/* The target as the host sees it. */
void plan_describe(const struct plan *plan, const struct target *target,
                   struct riptide_route *route);

/* Whether all that was wanted has taken effect. */
bool plan_is_idle(const struct plan *plan);

/* What was counted, and is at the moment. */
struct riptide_router_stats plan_count(const struct plan *plan);

/* event.c: takes in one notification. What makes no sense may mean anything. Errors: -ENOMEM. */
int event_follow(struct plan *plan, const struct nlmsghdr *message);

/*
 * Takes in whether a neighbour has failed. Returns 1 where that is new of a gateway of main's.
 * Errors: -EBADMSG, -ENOMEM.
 */
int event_note_neighbour(struct plan *plan, const struct nlmsghdr *message);

#endif
