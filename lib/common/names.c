/* SPDX-License-Identifier: MIT */
/* Words for the values of enums, and the texts of all reasons. Pure. */
#include "internal.h"

#include <riptide/agent.h>

enum { MOST_VALUES = 8 };

/* Those of routes have to fit the text of struct riptide_route. */
static const char *const reasons[] = {
    [RIPTIDE_REASON_NONE] = "none",
    [RIPTIDE_REASON_PAUSED] = "paused",
    [RIPTIDE_REASON_STOPPED] = "stopped",
    [RIPTIDE_REASON_SUSPENDED] = "suspended, as windows did harm",
    [RIPTIDE_REASON_OTHER_BACKEND] = "windows are given by the program",
    [RIPTIDE_REASON_NOT_ATTACHED] = "the program was detached, and cannot be attached again",
    [RIPTIDE_REASON_WAS_DETACHED] = "the program was detached; it is attached again",
    [RIPTIDE_REASON_TABLE_IN_USE] =
        "riptide's table has routes of another protocol: delete them, or choose another table",
    [RIPTIDE_REASON_IPV6_FAILOVER] =
        "main has IPv6 routes that replace a silent gateway's, as the host does not forward",
    [RIPTIDE_REASON_MAIN_HAS_CONDITIONS] = "a route of main depends on tos or source",
    [RIPTIDE_REASON_MAIN_HAS_RIVALS] = "main has several routes of one metric to a prefix",
    [RIPTIDE_REASON_NO_RULE_OF_MAIN] =
        ("no unconditional rule `lookup main` is there for ours to precede: add it, `ip [-6] rule "
         "add pref 32766 lookup main`"),
    [RIPTIDE_REASON_NO_PRIORITY] =
        "`lookup main` leaves no priority for ours to precede it: give it one of 2 or more",
    [RIPTIDE_REASON_PRIORITY_IN_USE] = ("another rule has the priority of `lookup main`, and comes "
                                        "before it: give it a lower one"),
    [RIPTIDE_REASON_GOTO] = ("a goto of another rule leads to the priority before `lookup main`, "
                             "where ours would be: lead it elsewhere"),
    [RIPTIDE_REASON_NO_ROUTE] = "there is no route to it",
    [RIPTIDE_REASON_OTHER_TABLE] = "a rule sends it to another table",
    [RIPTIDE_REASON_LOCAL] = "it is an address of this host",
    [RIPTIDE_REASON_BASE_UNREACHABLE] = "its base route is blackhole, unreachable or prohibit",
    [RIPTIDE_REASON_BASE_NOT_UNICAST] = "its base route is not unicast",
    [RIPTIDE_REASON_BASE_HAS_CONDITIONS] = "its base route depends on tos or source",
    [RIPTIDE_REASON_BASE_EXPIRES] = "its base route is about to expire",
    [RIPTIDE_REASON_BASE_LARGE_MTU] =
        "its base route has a larger mtu than can be given to another",
    [RIPTIDE_REASON_BASE_LOCKS] = "its base route locks initcwnd or initrwnd",
    [RIPTIDE_REASON_BASE_MULTIPATH] = "its base route has several next hops",
    [RIPTIDE_REASON_BASE_HIDES_HOP] = "the kernel does not show the hop of its next-hop object",
    [RIPTIDE_REASON_BASE_ATTRIBUTE] = "its base route has an attribute that is not copied",
    [RIPTIDE_REASON_BASE_SUFFICES] = "the initcwnd of its base route is no smaller",
    [RIPTIDE_REASON_KERNEL_SUFFICES] = "the kernel's own window is no smaller",
    [RIPTIDE_REASON_NARROW_PATH] = "its path MTU is smaller than that of its route",
    [RIPTIDE_REASON_NO_POLICY_ROUTING] = "this kernel has no policy routing for its family",
    [RIPTIDE_REASON_PREFIX] = "it has several addresses, and a route serves one",
    [RIPTIDE_REASON_QUERY_REFUSED] = "the kernel refused the route query",
    [RIPTIDE_REASON_QUERY_MALFORMED] = "the kernel's answer is malformed",
    [RIPTIDE_REASON_REFUSED] = "the kernel refuses it",
    [RIPTIDE_REASON_NO_GATEWAY] = "the gateway of its route is on no link",
    [RIPTIDE_REASON_ABOVE_MAX] = "at most its upper bound",
    [RIPTIDE_REASON_BELOW_BASE] = "at least the window without us",
    [RIPTIDE_REASON_UNPACED] = "unpaced: at most 24",
    [RIPTIDE_REASON_OFF] = "windows are off for its prefix",
    [RIPTIDE_REASON_HELD_BACK] = "windows are held back for its prefix",
    [RIPTIDE_REASON_LINK_LOCAL] = "it is a link-local, multicast or broadcast address",
    [RIPTIDE_REASON_OUT_OF_SCOPE] = "it is outside the scope",
    [RIPTIDE_REASON_EXCLUDED] = "it is excluded",
    [RIPTIDE_REASON_PORT] = "no connection to it with ports of the scope has counted yet",
    [RIPTIDE_REASON_SHORT_PATH] = "its round trips are too short",
    [RIPTIDE_REASON_NOT_LEARNED] = "no connection to it has counted yet",
    [RIPTIDE_REASON_EXPIRED] = "no connection to it has counted within its time to live",
    [RIPTIDE_REASON_FULL] = "another destination has its place, as the table is full",
    [RIPTIDE_REASON_PENDING] = "its window was computed, and is not given yet",
};

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
        [RIPTIDE_ARM_NONE] = "none",
        [RIPTIDE_ARM_WINDOW] = "window",
        [RIPTIDE_ARM_HOLDOUT] = "holdout",
    },
};

RIPTIDE_PUBLIC const char *riptide_name(enum riptide_names names, uint32_t value)
{
    const char *word = NULL;

    if (names == RIPTIDE_NAMES_REASON && value < sizeof(reasons) / sizeof(reasons[0]))
        word = reasons[value];
    else if ((size_t)names < sizeof(words) / sizeof(words[0]) && value < MOST_VALUES)
        word = words[names][value];
    return word ? word : "unknown";
}

const char *reason_text(enum riptide_reason reason)
{
    return reason == RIPTIDE_REASON_NONE ? NULL : riptide_name(RIPTIDE_NAMES_REASON, reason);
}
