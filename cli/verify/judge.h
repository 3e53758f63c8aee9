/* SPDX-License-Identifier: MIT */
/*
 * Whether a new connection got Riptide's window, and what prevented it. Pure: observations in, a
 * verdict out.
 */
#ifndef CLI_VERIFY_JUDGE_H
#define CLI_VERIFY_JUDGE_H

#include "rules.h"
#include <linux/netlink.h>
#include <riptide/agent.h>

/* The opened connection, from its own TCP_INFO, before any data was sent. */
struct probe {
    struct riptide_prefix peer;
    uint16_t peer_port;
    struct riptide_prefix source; /* the address chosen by the kernel or the caller */
    uint16_t source_port;
    uint32_t mark;         /* as the caller set it; 0: none */
    const char *interface; /* bound to; NULL: none */
    uint32_t cwnd;         /* segments */
    uint32_t ssthresh;     /* segments; from 0x7fffffff on: none */
    uint32_t mss_bytes;
    uint32_t retrans_segs;  /* SYNs retransmitted */
    uint32_t snd_wnd_bytes; /* the peer's first window; 0: unknown */
    uint64_t cookie;        /* of its socket; 0: unknown */
    char congestion_control[16];
};

struct evidence {
    struct riptide_applier_config applier;
    struct probe probe;
    struct route_answer answer; /* the kernel's route for exactly that connection */
    bool has_route; /* our route that contains the peer; read before the connection was opened */
    struct riptide_route route;
    uint32_t program_cwnd; /* riptided's window by the program, segments; 0: none */
    char why_off[256];     /* why riptided gives no windows by the program; empty: it does, or does
                              not answer */
    char off[RIPTIDE_PREFIX_TEXT_BYTES]; /* of the hint that gives it no window; empty: none */
    int silent_pid;        /* a process that gives windows by the program and does not answer; 0:
                              none */
    char cgroup[256];      /* for connections of this cgroup; empty: this command is in it */
    bool has_given;        /* the program's counter has increased since before the connection opened
                            */
    const struct rule *rules;
    size_t n_rules;
    bool has_holder;          /* an applier manages this namespace */
    struct riptide_route dry; /* the dry run for the peer; reason: left alone */
};

enum verdict_kind {
    VERDICT_APPLIED,    /* it starts with our window */
    VERDICT_BOUNDED,    /* it does, but the peer takes less */
    VERDICT_OVERRIDDEN, /* it starts with another window */
    VERDICT_UNKNOWN,    /* another process gives windows, and does not answer */
};

struct verdict {
    enum verdict_kind kind;
    char reason[384]; /* empty where APPLIED */
    char note[256];   /* further information; mostly empty */
};

const char *verdict_name(enum verdict_kind kind);

void verdict_judge(const struct evidence *evidence, struct verdict *verdict);

/*
 * Connects to probe->peer, with source, mark and interface if set, fills in the rest, and closes
 * the connection. Errors, each with a line: those of socket(2), setsockopt(2), bind(2), connect(2);
 * -ETIMEDOUT.
 */
int probe_run(struct probe *probe, uint64_t timeout_ns, struct riptide_error *error);

/* Whether this command is in another part of cgroup2, as far as visible. */
bool probe_is_outside(const char *cgroup);

/*
 * Queries the route of such a connection, with all of its attributes that are set, over an open
 * netlink socket. Errors are in answer->error.
 */
struct netlink;
void probe_ask_route(struct netlink *netlink, const struct probe *probe,
                     struct route_answer *answer);

/*
 * Builds the query in a buffer for one request, with source and ports if set. `uid` is the
 * caller's, ifindex that of probe->interface or 0.
 */
struct nlmsghdr *route_query_put(void *room, const struct probe *probe, uint32_t uid,
                                 uint32_t ifindex);

/* Reads the answer: answer->error is the kernel's, or -EBADMSG if it is not a route. */
void route_query_read(const struct nlmsghdr *message, struct route_answer *answer);

#endif
