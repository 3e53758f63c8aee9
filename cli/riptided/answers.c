/* SPDX-License-Identifier: MIT */
#include "answers.h"

const struct verb answers[] = {
    { .name = "status", .answer = answer_status },
    { .name = "verdict", .answer = answer_verdict },
    { .name = "history", .answer = answer_history },
    { .name = "metrics", .answer = answer_metrics },
    { .name = "show", .answer = answer_show },
    { .name = "explain", .answer = answer_explain, .needs_dst = true },
    { .name = "opened", .answer = answer_opened, .needs_dst = true },
    { .name = "hints", .answer = answer_hints },
    { .name = "hint", .answer = answer_hint, .changes = true, .needs_dst = true },
    { .name = "unhint", .answer = answer_unhint, .changes = true, .needs_dst = true },
    { .name = "pause", .answer = answer_pause, .changes = true },
    { .name = "resume", .answer = answer_pause, .changes = true },
    { .name = NULL },
};
