/* SPDX-License-Identifier: MIT */
/*
 * What doctor reads of a host. Readers fill it and judge nothing; checks.c judges and reads
 * nothing.
 */
#ifndef CLI_DOCTOR_HOST_H
#define CLI_DOCTOR_HOST_H

#include "lib/tools.h"
#include "resolve.h"

#include <errno.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <riptide/apply.h>

/* The segment size of Ethernet without options, for figures that must not depend on a path. */
#define TYPICAL_MSS_BYTES 1460

/* Enough for a sysctl that is a word or three numbers. */
#define HOST_WORD_BYTES 64

/* Whether systemd-networkd takes away what is not its own: networkd.conf(5). */
struct networkd {
    bool is_in_use;
    bool leaves_routes; /* ManageForeignRoutes=no */
    bool leaves_rules;  /* ManageForeignRoutingPolicyRules=no */
};

/* The queues that packets leave by. */
struct queues {
    int error;
    uint32_t default_ifindex; /* of the default route; 0: there is none */
    bool is_default;          /* its link has queues, and they alone count */
    size_t n_paced;           /* of kind fq */
    uint32_t ifindex;         /* of the first that spaces nothing out; 0: none */
    char kind[IF_NAMESIZE];   /* of that queue */
    char device[IF_NAMESIZE]; /* that has it */
};

/* One RTM_NEWQDISC of a dump. */
void queues_add(struct queues *queues, const struct nlmsghdr *message);

/* The open connections to other hosts, and what would become of their destinations. */
struct connections {
    int error; /* -errno where they cannot be read */
    uint64_t n;
    int routes_error; /* the same of the routes to their destinations */
    struct resolved destinations;
};

struct host {
    struct riptide_router_config router; /* the numbers asked about, and cwnd_max */
    struct networkd networkd;
    struct queues queues;
    struct connections connections;

    struct rule *rules;
    size_t n_rules;
    int rules_error;
    size_t n_routes;        /* ours, in the kernel */
    size_t n_not_taken;     /* of these, not taken by connections although our rules are there */
    struct start not_taken; /* the first of them, */
    struct riptide_prefix not_taken_dst;
    bool has_holder;    /* some router manages this namespace */
    int holder_pid;     /* 0: not to be seen from here */
    int control_error;  /* -errno where a riptided was asked on --control and gave no answer, */
    struct riptide_error control_failure; /* with the line of client_ask */
    int control_pid;    /* whose socket that is; 0: out of sight */
    bool is_paused;     /* as it says itself */
    bool is_holder_hidden; /* what it has open cannot be seen from here */
    char apply[16];     /* by what windows are given: routes, connections, both; empty: not known */
    char reason[256];   /* why it gives nothing per connection; empty: it does, or is not to */
    bool is_auto;       /* it has chosen that, by --apply auto */
    bool is_stepped_back; /* that is why */
    bool is_pacing;     /* per connection, unless there is a reason */
    bool is_careful;    /* and by evidence of losses alone: policy careful */
    bool all_netns;     /* as its file says */
    int keeper_pid;     /* that goes to other network namespaces for it; 0: does not run */
    uint64_t keeper_capabilities; /* its effective ones */
    int conflict_error; /* riptide_router_check */
    struct riptide_error conflict;

    int receiver_error;
    uint32_t initrwnd;              /* riptide_receiver_get_initrwnd */
    char tcp_rmem[HOST_WORD_BYTES]; /* sysctls as text; empty: cannot be read */
    char congestion_control[HOST_WORD_BYTES];
    char slow_start_after_idle[HOST_WORD_BYTES];
};

/*
 * Reads all of it for the thread's network namespace; networkd's files below `root`. Errors:
 * -EINVAL (the numbers, with a line), -ENOMEM, those of socket(2). What single parts could not read
 * stands in their `error`.
 */
int host_read(struct host *host, const struct riptide_router_config *router, const char *root,
              struct riptide_error *error);

/* Whose socket answered is of --all-netns: the first process, or a worker, whose parent that is. */
void host_read_keeper(struct host *host);

/* Whoever manages this namespace is the riptided that was asked; it may not have answered. */
static inline bool host_is_riptided(const struct host *host)
{
    return host->control_pid == host->holder_pid &&
           (host->control_error == 0 || host->control_error == -ETIMEDOUT);
}

/* Whoever manages this namespace has not answered: by what it gives windows, as far as can be seen. */
void host_read_holder(struct host *host);

void host_deinit(struct host *host);

#endif
