/* SPDX-License-Identifier: MIT */
/* Words for the values of enums. Pure. */
#include "internal.h"

#include <riptide/agent.h>

enum { MOST_VALUES = 8 };

static const char *const words[][MOST_VALUES] = {
    [RIPTIDE_NAMES_OUTCOME] = {
        [0] = "success",
        [RIPTIDE_E_AGAIN] = "nothing more now",
        [RIPTIDE_E_DONE] = "complete",
        [RIPTIDE_E_FULL] = "the table is full",
        [RIPTIDE_E_INVALID] = "the value is impossible",
        [RIPTIDE_E_UNKNOWN] = "nothing is known about it",
        [RIPTIDE_E_MORE] = "there may be more to do",
        [RIPTIDE_E_LEFT_OUT] = "no evidence for the policy",
    },
    [RIPTIDE_NAMES_BACKEND] = {
        [RIPTIDE_AUTO] = "auto",
        [RIPTIDE_ROUTES] = "routes",
        [RIPTIDE_PROGRAM] = "program",
        [RIPTIDE_BOTH] = "both",
    },
    [RIPTIDE_NAMES_ROUTE_STATE] = {
        [RIPTIDE_ROUTE_APPLIED] = "applied",
        [RIPTIDE_ROUTE_WITHDRAWN] = "withdrawn",
        [RIPTIDE_ROUTE_LEFT_ALONE] = "left alone",
        [RIPTIDE_ROUTE_FAILED] = "failed",
    },
    [RIPTIDE_NAMES_EVENT] = {
        [RIPTIDE_AGENT_TICK] = "tick",
        [RIPTIDE_AGENT_WINDOW] = "window",
        [RIPTIDE_AGENT_FAILED] = "failed",
        [RIPTIDE_AGENT_RULES] = "rules",
        [RIPTIDE_AGENT_PROGRAM] = "program",
        [RIPTIDE_AGENT_DESTROY_EVENTS] = "destroy events",
    },
    [RIPTIDE_NAMES_LEFT_OUT] = {
        [RIPTIDE_LEFT_OUT_NOT] = "counted",
        [RIPTIDE_LEFT_OUT_UNUSED] = "unused",
        [RIPTIDE_LEFT_OUT_IDLE] = "idle",
        [RIPTIDE_LEFT_OUT_UNMEASURED] = "unmeasured",
    },
    [RIPTIDE_NAMES_ARM] = {
        [RIPTIDE_ARM_WINDOW] = "window",
        [RIPTIDE_ARM_HOLDOUT] = "holdout",
    },
};

RIPTIDE_PUBLIC const char *riptide_name(enum riptide_names names, uint32_t value)
{
    const char *word = NULL;

    if ((size_t)names < sizeof(words) / sizeof(words[0]) && value < MOST_VALUES)
        word = words[names][value];
    return word ? word : "unknown";
}
