/* SPDX-License-Identifier: MIT */
/*
 * Riptide: initial TCP windows learned from open connections.
 *
 * Common to the three stages: version, outcomes, error text, prefixes. The stages themselves are in
 * observe.h, compute.h and apply.h; agent.h joins them.
 *
 * Conventions of every header here:
 *  - A function returns 0 on success. A negative value is -errno: the call failed, and the object
 *    is as before. A positive value is one of the outcomes (enum riptide_outcome) that the
 *    function's comment names; the direct caller handles it.
 *  - Out-parameters are written on success only. `*_free(NULL)` does nothing; every `*_free`
 *    returns NULL. A pointer from `*_pop` belongs to the object until its next call.
 *  - Objects own no thread, no signal and no loop, print nothing and never exit. One object belongs
 *    to one thread at a time; different objects are independent.
 *  - An observer, applier or agent belongs to the process that made it; so call daemon(3) first. In
 *    a child of fork(2) functions that would do I/O on it do nothing and return -ECHILD (unless
 *    void), with a line in a struct riptide_error. Functions that only read or pop return the state
 *    at the fork. `*_free` closes the child's copies of the sockets and does not affect the
 *    parent's. A child that does not exec should call it at once: as long as a copy is open, the
 *    namespace stays claimed, and the program's epoll watches the fd even after the parent has
 *    freed the object, unless EPOLL_CTL_DEL came first. An estimator is memory only: each process
 *    goes on with its own.
 *  - The fd of an object is level-triggered: readable as long as `*_dispatch` has work to do. A
 *    loop that waits with poll, select or epoll may dispatch once for each wake-up and ignore
 *    RIPTIDE_E_MORE. An edge-triggered loop (EPOLLET, Go's netpoll, tokio) is woken by changes
 *    only, so it dispatches until no work remains:
 *
 *        do {
 *            r = riptide_agent_dispatch(agent);
 *            while (riptide_agent_pop(agent, &event) == 0)
 *                use *event
 *        } while (r == RIPTIDE_E_MORE);
 *
 *    Other work may run between two dispatches. The fd belongs to the object. Give a runtime that
 *    closes the fd (Go's os.File, tokio's AsyncFd of an OwnedFd) a dup(2) of it, and close that
 *    before the object is freed.
 *  - Windows (cwnd, initcwnd, initrwnd) are in segments. Every other quantity names its unit.
 *  - `*_config_init(config, sizeof(*config))` fills a configuration with defaults; `*_new` copies
 *    it, with the arrays that it points to. -E2BIG: a program with newer headers has set a field
 *    that this library does not have, or `reserved` is set (also in its scope; in a hint or policy:
 *    -EINVAL). -EINVAL: its size is that of no release, but of a pointer, for example.
 *  - Structs grow at their end. A struct that the caller fills or passes to be filled contains its
 *    size, or has `reserved` members, which become fields: the caller sets them to 0. Structs that
 *    the library returns by pointer may be longer than in the headers.
 *  - docs/NAME is in the sources, and installed as share/doc/riptide/NAME.
 */
#ifndef RIPTIDE_RIPTIDE_H
#define RIPTIDE_RIPTIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A point in time that never comes. Times are CLOCK_BOOTTIME in ns unless stated otherwise. */
#define RIPTIDE_NEVER_NS UINT64_MAX

/* In place of a percentage of a round trip: the first flight is not paced. */
#define RIPTIDE_AT_ONCE UINT32_MAX

/* The largest window, in segments: the kernel does not check it, and misbehaves from 2^31 on. */
#define RIPTIDE_CWND_LIMIT 65535

/* The largest rto_min, a minute: a lost segment would wait for it. */
#define RIPTIDE_RTO_MIN_LIMIT_US 60000000

/* The most destinations that an estimator or an applier can be configured for. */
#define RIPTIDE_MAX_DESTINATIONS 16777216

/* The most prefixes that an array of a configuration can have. */
#define RIPTIDE_MAX_PREFIXES 1048576

/* Outcomes that a caller handles. Each function's comment names its own. */
enum riptide_outcome {
    RIPTIDE_E_AGAIN = 1, /* nothing now; dispatch again when the fd is readable */
    RIPTIDE_E_DONE,      /* the dump is complete */
    RIPTIDE_E_RESTARTED, /* the dump was interrupted and begins anew: discard its samples */
    RIPTIDE_E_FULL,      /* the configured number of destinations is reached */
    RIPTIDE_E_INVALID,   /* the value is impossible (a window of 0, time that runs backwards) */
    RIPTIDE_E_UNKNOWN,   /* the destination has no data */
    RIPTIDE_E_MORE,      /* there may be more work: pop, and dispatch again */
    RIPTIDE_E_LEFT_OUT,  /* the sample is no evidence for the policy */
};

/*
 * The error, its object, and the remedy. If the object is a field of a configuration, `text` begins
 * with that field and its index, then ": ".
 */
struct riptide_error {
    char text[256]; /* one line for a person */
    /*
     * The field's path from the agent's configuration on, also for other objects:
     * "estimator.cwnd_max", "observer.scope.learn[]". Static storage; NULL: the error concerns no
     * field.
     */
    const char *field;
    int64_t index; /* of the element that [] in `field` stands for; -1: none */
    uint64_t reserved[4];
};

/*
 * The text for a function's result: an outcome, 0, or the system's text for -errno. Static, or
 * valid until the thread calls strerror(3).
 */
const char *riptide_strerror(int r);

/* The version of these headers, as "MAJOR.MINOR.PATCH" and in numbers of 0 to 255. */
#define RIPTIDE_VERSION       "0.1.0"
#define RIPTIDE_VERSION_MAJOR 0
#define RIPTIDE_VERSION_MINOR 1
#define RIPTIDE_VERSION_PATCH 0

/*
 * Versions as ordered numbers, also for the preprocessor: #if RIPTIDE_VERSION_NUMBER >=
 * RIPTIDE_VERSION_ENCODE(0, 2, 0)
 */
#define RIPTIDE_VERSION_ENCODE(major, minor, patch) ((major) << 16 | (minor) << 8 | (patch))
#define RIPTIDE_VERSION_NUMBER                                                                     \
    RIPTIDE_VERSION_ENCODE(RIPTIDE_VERSION_MAJOR, RIPTIDE_VERSION_MINOR, RIPTIDE_VERSION_PATCH)

/* The version of the running library, in the form of RIPTIDE_VERSION. Static storage. */
const char *riptide_version(void);

/*
 * An address prefix. A host is a prefix of full length. Bits after `len` and bytes after the
 * family's address are zero, so that equal prefixes have equal bytes.
 */
struct riptide_prefix {
    uint8_t family;   /* AF_INET or AF_INET6 */
    uint8_t len;      /* bits, 0 to 32 or 0 to 128 */
    uint8_t addr[16]; /* network byte order; IPv4 uses the first four */
};

/* The size of any prefix as text, including its terminating zero. */
#define RIPTIDE_PREFIX_TEXT_BYTES 50

/*
 * Reads "203.0.113.0/24", "2001:db8::/32" or an address, a prefix of full length. IPv4-mapped IPv6
 * prefixes become IPv4. Host bits must be zero. Errors: -EINVAL where the text is not a prefix.
 */
int riptide_prefix_parse(struct riptide_prefix *prefix, const char *text);

/* Writes the prefix as text; a prefix of full length without its length, as ip(8) does. */
void riptide_prefix_format(const struct riptide_prefix *prefix,
                           char text[RIPTIDE_PREFIX_TEXT_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
