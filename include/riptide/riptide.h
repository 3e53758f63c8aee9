/* SPDX-License-Identifier: MIT */
/*
 * Riptide: initial TCP windows learned from open connections.
 *
 * Common to all headers. The three stages, each of which works alone, are in observe.h, compute.h
 * and apply.h; agent.h joins them. docs/embedding.md (share/doc/riptide) has more on each point.
 *
 *  - Results: 0 is success. A negative value is -errno: the call failed, the object is as before,
 *    and `error`, which may be NULL, has a line. After a success the line is empty, or says what
 *    the function's comment names. A positive value is an outcome (enum riptide_outcome) that the
 *    comment names as well. Other out-parameters are written on success only. A comment says where
 *    this differs.
 *  - Pointers: what a call returns by pointer belongs to the object until its next such call. Only
 *    the texts of riptide_estimator_save and riptide_agent_get_state are the caller's to free.
 *    `*_free(NULL)` does nothing; every `*_free` returns NULL.
 *  - Loop: an object with an fd works in `*_dispatch`, when that fd is readable. A loop with poll,
 *    select or level-triggered epoll dispatches once, then pops all. An edge-triggered one
 *    (EPOLLET, Go, tokio) repeats both while the result is RIPTIDE_E_MORE. Nothing else has to be
 *    called at intervals. Objects own no thread, signal or loop, print nothing, never exit.
 *  - Threads: one object is used by one thread at a time, whichever. Only `*_new` depends on the
 *    thread: its network namespace. A call needs at most 64 kB of stack.
 *  - Processes: an observer, applier or agent belongs to the process that made it. In a child of
 *    fork(2) calls that change it return -ECHILD, and free closes the child's copies alone. A
 *    process that dies leaves windows by routes in place (apply.h); those by the program end.
 *  - Units: windows (cwnd, initcwnd, initrwnd) are in segments, times are CLOCK_BOOTTIME in ns;
 *    every other quantity names its unit.
 *  - Configurations: `*_config_init(config, sizeof(*config))` sets defaults. `*_new` copies a
 *    configuration with all that it points to but the policy, which must outlive the object.
 *  - Structs grow at their end; riptide_error, _prefix, _port_range, _policy, _hint, _estimate and
 *    _change are final. A struct that is returned by pointer may be longer than this header's.
 *    -E2BIG: newer headers have set what this library does not know. Set `reserved` to 0.
 */
#ifndef RIPTIDE_RIPTIDE_H
#define RIPTIDE_RIPTIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Plain literals, so that generated bindings of other languages keep them. */
#define RIPTIDE_NEVER_NS          0xffffffffffffffffULL /* a point in time that never comes */
#define RIPTIDE_AT_ONCE           0xffffffffU           /* as a pacing_percent: not paced */
#define RIPTIDE_CWND_LIMIT        65535                 /* the largest window, segments */
#define RIPTIDE_RTO_MIN_LIMIT_US  60000000              /* the largest rto_min */
#define RIPTIDE_MAX_DESTINATIONS  16777216              /* that an object can be configured for */
#define RIPTIDE_MAX_PREFIXES      1048576               /* in an array of a configuration */
#define RIPTIDE_PREFIX_TEXT_BYTES 50                    /* of any prefix as text, with its zero */

enum riptide_outcome {
    RIPTIDE_E_AGAIN = 1, /* there is nothing now; dispatch again when the fd is readable */
    RIPTIDE_E_DONE,      /* the dump or the walk is complete */
    RIPTIDE_E_FULL,      /* there is no place: of the configured number, or one network's part */
    RIPTIDE_E_INVALID,   /* the value is impossible (a window of 0, time that runs backwards) */
    RIPTIDE_E_UNKNOWN,   /* there is no data about it */
    RIPTIDE_E_MORE,      /* there may be more work: pop, and dispatch again */
    RIPTIDE_E_LEFT_OUT,  /* the sample is no evidence for the policy */
};

/* Why a call failed. It belongs to the caller; nothing in it is to be freed. */
struct riptide_error {
    char text[256]; /* one line for a person: mostly the object, the reason, the remedy */
    /*
     * The field of a configuration that is wrong, by its path from the agent's:
     * "estimator.cwnd_max", "observer.scope.learn[]". `text` begins with it and its index. It is
     * static. NULL: the error is about no field.
     */
    const char *field;
    int64_t index; /* of the element that [] in `field` stands for; -1: none */
};

/*
 * Why a destination has no window or another one than was asked for, or why windows are off.
 * Programs compare these values. The text beside one is for people, and may say more than
 * riptide_name: numbers, names, what the kernel said.
 */
enum riptide_reason {
    RIPTIDE_REASON_NONE, /* as it was asked for, and in force */

    /* Windows of a backend, or of a family, are off. */
    RIPTIDE_REASON_PAUSED,
    RIPTIDE_REASON_STOPPED,
    RIPTIDE_REASON_SUSPENDED,           /* by an agent, as windows did harm */
    RIPTIDE_REASON_OTHER_BACKEND,       /* the program gives windows, and routes do not */
    RIPTIDE_REASON_NOT_ATTACHED,        /* the program was detached, and cannot be attached again */
    RIPTIDE_REASON_WAS_DETACHED,        /* the program was detached for less than a second */
    RIPTIDE_REASON_TABLE_IN_USE,        /* our table has routes of another protocol */
    RIPTIDE_REASON_IPV6_FAILOVER,       /* main has routes in place of those of a silent gateway */
    RIPTIDE_REASON_MAIN_HAS_CONDITIONS, /* a route of main depends on tos or source */
    RIPTIDE_REASON_MAIN_HAS_RIVALS,     /* main has routes of one metric to one prefix */
    RIPTIDE_REASON_NO_RULE_OF_MAIN,     /* no unconditional rule `lookup main` */
    RIPTIDE_REASON_NO_PRIORITY,         /* that rule leaves none for ours before it */
    RIPTIDE_REASON_PRIORITY_IN_USE,     /* another rule has the priority of that rule */
    RIPTIDE_REASON_GOTO,                /* another rule leads to the priority before that rule's */

    /* A destination gets no route. "Base": the route that the kernel uses without us. */
    RIPTIDE_REASON_NO_ROUTE,
    RIPTIDE_REASON_OTHER_TABLE, /* a rule sends it to another table than main or ours */
    RIPTIDE_REASON_LOCAL,       /* it is an address of this host */
    RIPTIDE_REASON_BASE_UNREACHABLE,
    RIPTIDE_REASON_BASE_NOT_UNICAST,
    RIPTIDE_REASON_BASE_HAS_CONDITIONS,
    RIPTIDE_REASON_BASE_EXPIRES,
    RIPTIDE_REASON_BASE_LARGE_MTU,
    RIPTIDE_REASON_BASE_LOCKS,
    RIPTIDE_REASON_BASE_MULTIPATH,
    RIPTIDE_REASON_BASE_HIDES_HOP,
    RIPTIDE_REASON_BASE_ATTRIBUTE,    /* it has one that is not copied */
    RIPTIDE_REASON_BASE_SUFFICES,     /* its initcwnd is no smaller, or by less than a step */
    RIPTIDE_REASON_KERNEL_SUFFICES,   /* the kernel's window is no smaller */
    RIPTIDE_REASON_NARROW_PATH,       /* connections show a smaller path MTU than the base has */
    RIPTIDE_REASON_NO_POLICY_ROUTING, /* the kernel has none for the family */
    RIPTIDE_REASON_PREFIX,            /* it has several addresses, and a route serves one */
    RIPTIDE_REASON_QUERY_REFUSED,     /* the kernel does not tell its base */
    RIPTIDE_REASON_QUERY_MALFORMED,   /* the kernel's answer about its base makes no sense */

    /* The kernel refuses a route or a window: the text is the kernel's. */
    RIPTIDE_REASON_REFUSED,
    RIPTIDE_REASON_NO_GATEWAY, /* the gateway of the route is on no link */

    /* A window is in force, and is not the one that was asked for. */
    RIPTIDE_REASON_ABOVE_MAX,  /* that is above its cwnd_max */
    RIPTIDE_REASON_BELOW_BASE, /* that is below the window without us */
    RIPTIDE_REASON_UNPACED,    /* that fits only when paced; what cannot be is at most 24 */

    /* There is no window for a destination. */
    RIPTIDE_REASON_OFF,          /* a hint or a section of its prefix is `off` */
    RIPTIDE_REASON_HELD_BACK,    /* the upper bound of a hint leaves the window without us */
    RIPTIDE_REASON_LINK_LOCAL,   /* it is a link-local, multicast or broadcast address */
    RIPTIDE_REASON_OUT_OF_SCOPE, /* `learn` of the scope does not contain it */
    RIPTIDE_REASON_EXCLUDED,     /* `exclude` of the scope contains it */
    RIPTIDE_REASON_PORT,         /* no connection with a port of the scope has counted yet */
    RIPTIDE_REASON_SHORT_PATH,   /* its round trips are too short */
    RIPTIDE_REASON_NOT_LEARNED,  /* no connection to it has counted yet */
    /* An agent remembers these two of the last 256 windows that went, then says NOT_LEARNED. */
    RIPTIDE_REASON_EXPIRED, /* the last one that counted is older than the time to live */
    RIPTIDE_REASON_FULL,    /* another destination has its place */
    RIPTIDE_REASON_PENDING, /* it was computed, and no backend has it yet */
};

/* The enums that riptide_name knows. */
enum riptide_names {
    RIPTIDE_NAMES_OUTCOME,     /* enum riptide_outcome; 0 is success */
    RIPTIDE_NAMES_BACKEND,     /* enum riptide_backend */
    RIPTIDE_NAMES_ROUTE_STATE, /* enum riptide_route_state */
    RIPTIDE_NAMES_EVENT,       /* enum riptide_agent_event_kind */
    RIPTIDE_NAMES_ARM,         /* enum riptide_arm */
    RIPTIDE_NAMES_LEFT_OUT,    /* enum riptide_left_out */
    RIPTIDE_NAMES_REASON,      /* enum riptide_reason */
};

/*
 * Returns a word for a value, for logs, as "left alone"; for a reason a line. It is static. A value
 * that has none gives "unknown".
 */
const char *riptide_name(enum riptide_names names, uint32_t value);

#define RIPTIDE_VERSION        "1.0.0"  /* of these headers */
#define RIPTIDE_VERSION_NUMBER 0x010000 /* the same: 1.2.3 is 0x010203 */
const char *riptide_version(void);      /* of the running library; static */

/*
 * A network; of full length, a host. All bits of `addr` after `len` are 0, so that equal prefixes
 * have equal bytes.
 */
struct riptide_prefix {
    uint8_t family;   /* AF_INET or AF_INET6 */
    uint8_t len;      /* bits, 0 to 32 or 0 to 128 */
    uint8_t addr[16]; /* network byte order; IPv4 uses the first four */
};

/*
 * Reads "203.0.113.0/24" or an address. IPv4-mapped ones become IPv4. Errors: -EINVAL: it is
 * neither, or has bits after its length.
 */
int riptide_prefix_parse(struct riptide_prefix *prefix, const char *text);

/*
 * Writes the prefix as text; a host without its length, as ip(8) does. "?": its family is no one of
 * the two.
 */
void riptide_prefix_format(const struct riptide_prefix *prefix,
                           char text[RIPTIDE_PREFIX_TEXT_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
