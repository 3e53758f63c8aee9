/* SPDX-License-Identifier: MIT */
/*
 * Whether a new connection got the window that Riptide has for it, and what took it away otherwise.
 * Pure: what was seen in, a verdict out.
 */
#ifndef CLI_VERIFY_JUDGE_H
#define CLI_VERIFY_JUDGE_H

#include "lib/tools.h"
#include "rules.h"
#include <linux/netlink.h>

/* The connection that was opened, from its own TCP_INFO, before anything was sent. */
struct probe {
    struct riptide_prefix peer;
    uint16_t peer_port;
    struct riptide_prefix source; /* the address that the kernel or the caller chose */
    uint16_t source_port;
    uint32_t mark;         /* as the caller set it; 0: none */
    const char *interface; /* bound to; NULL: none */
    uint32_t cwnd;         /* segments */
    uint32_t ssthresh;     /* segments; from 0x7fffffff on: none */
    uint32_t mss_bytes;
    uint32_t retrans_segs;  /* SYNs sent again */
    uint32_t snd_wnd_bytes; /* what the peer takes; 0: not known */
    uint64_t cookie;        /* of its socket; 0: not known */
    char congestion_control[16];
};

struct evidence {
    struct riptide_router_config router;
    struct probe probe;
    struct route_answer answer; /* the kernel's route for exactly that connection */
    bool has_route; /* of ours, that holds the peer; read before the connection was opened */
    struct riptide_route route;
    uint32_t program_cwnd; /* what riptided gives it per connection, segments; 0: nothing */
    char why_off[256];     /* why riptided gives nothing per connection; empty: it does, or is silent */
    int silent_pid;        /* of who gives windows per connection and does not say which; 0: nobody */
    char cgroup[256];      /* for connections of these; empty: this command is in there */
    bool has_given;        /* the program has, by its own count, since before the connection opened */
    const struct rule *rules;
    size_t n_rules;
    bool has_holder;          /* a router manages this namespace */
    struct riptide_route dry; /* what a dry run says of the peer; reason: left alone */
};

enum verdict_kind {
    VERDICT_APPLIED,    /* it starts with our window */
    VERDICT_BOUNDED,    /* it does, but the peer takes less */
    VERDICT_OVERRIDDEN, /* it does not */
    VERDICT_UNKNOWN,    /* windows are another process's, which cannot be asked */
};

struct verdict {
    enum verdict_kind kind;
    char reason[384]; /* empty where APPLIED */
    char note[256];   /* what else is worth knowing; mostly empty */
};

const char *verdict_name(enum verdict_kind kind);

void verdict_judge(const struct evidence *evidence, struct verdict *verdict);

/*
 * Connects to probe->peer from what is set of source (family 0: any), mark and interface, and fills
 * in the rest. The connection is closed again.
 * Errors, each with a line: those of socket(2), setsockopt(2), bind(2), connect(2); -ETIMEDOUT.
 */
int probe_run(struct probe *probe, uint64_t timeout_ns, struct riptide_error *error);

/* Whether this command is in another part of cgroup2, as far as can be seen. */
bool probe_is_outside(const char *cgroup);

/*
 * Asks the kernel for the route of such a connection, from whatever is set of it, over a netlink
 * that is open. What goes wrong is in answer->error.
 */
struct netlink;
void probe_ask_route(struct netlink *netlink, const struct probe *probe,
                     struct route_answer *answer);

/*
 * The request, with what is set of source and ports, in a room for one. `uid` is the caller's,
 * ifindex that of probe->interface or 0.
 */
struct nlmsghdr *route_query_put(void *room, const struct probe *probe, uint32_t uid,
                                 uint32_t ifindex);

/* Reads the answer: answer->error is the kernel's, or -EBADMSG where it is no route. */
void route_query_read(const struct nlmsghdr *message, struct route_answer *answer);

#endif
