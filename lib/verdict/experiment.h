/* SPDX-License-Identifier: MIT */
/*
 * The experiment under way: outcomes of both arms, the phase that says how many are held out, and
 * what they decide. docs/verdict.md has the reasons. Pure.
 */
#ifndef RIPTIDE_LIB_VERDICT_EXPERIMENT_H
#define RIPTIDE_LIB_VERDICT_EXPERIMENT_H

#include "suspension.h"
#include "verdict.h"

/* All zero, but `arms` and `since_s`: it begins. */
struct experiment {
    struct arm_config arms;
    enum holdout_phase phase; /* in force for connections that open now */
    uint64_t since_s;         /* when `all` began, CLOCK_REALTIME */
    struct books all;         /* of both phases: what users read */
    /* What decides, of the present phase, by group of sources; begins anew again and again. */
    struct books stretch[VERDICT_GROUPS];
    uint32_t n_held_out; /* in it */
    uint32_t n_stretches;
    /* Of ARM_WINDOW alone: the stretch of the first phase, and the latest of the second one. */
    struct books before, latest;
    uint32_t n_latest;
    uint32_t n_new; /* connections since the last round */
    /* Of those held out: two halves, as if one were of ARM_WINDOW, which should not differ. */
    struct books halves;
    uint32_t n_halves;
    uint64_t judged_ns, traffic_ns; /* the last round; time with connections in the first phase */
};

/* Enters the line of a connection whose peer is of that group. */
void experiment_enter(struct experiment *experiment, const struct book_line *line, enum arm arm,
                      unsigned int group);

/*
 * Call it each round. After SUSPENSION_BEGINS no window may be given until it returns
 * SUSPENSION_ENDS; *verdict is the reason. The phase may have changed.
 */
enum suspension_step experiment_judge(struct experiment *experiment, struct suspension *suspension,
                                      struct verdict *verdict, uint64_t now_ns);

/* For riptide_agent_get_verdict, with its outcomes; NULL: none is held out. */
int experiment_give(const struct experiment *experiment, struct riptide_verdict *verdict);

/* Begins a phase, and what decides in it. */
void experiment_begin(struct experiment *experiment, enum holdout_phase phase);

#endif
