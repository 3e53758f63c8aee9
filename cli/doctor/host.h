/* SPDX-License-Identifier: MIT */
/* The facts that doctor reads. The readers do not judge; checks.c judges and reads nothing. */
#ifndef CLI_DOCTOR_HOST_H
#define CLI_DOCTOR_HOST_H

#include "explanation.h"
#include "resolve.h"
#include "settings.h"

#include <errno.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <riptide/apply.h>

/* The segment size of Ethernet without options, for figures that must not depend on a path. */
#define TYPICAL_MSS_BYTES 1460

/* Enough for a sysctl that is a word or three numbers. */
#define HOST_WORD_BYTES 64

/* Whether systemd-networkd removes other programs' rules and routes: networkd.conf(5). */
struct networkd {
    bool is_in_use;
    bool leaves_routes; /* ManageForeignRoutes=no */
    bool leaves_rules;  /* ManageForeignRoutingPolicyRules=no */
};

/* The queues of the links. */
struct queues {
    int error;
    uint32_t default_ifindex; /* of the default route; 0: there is none */
    bool is_default;          /* the default route's link has queues, and only they count */
    size_t n_paced;           /* of kind fq */
    uint32_t ifindex;         /* of the first that does not pace; 0: none */
    char kind[IF_NAMESIZE];   /* of that queue */
    char device[IF_NAMESIZE]; /* its link */
};

/* One RTM_NEWQDISC of a dump. */
void queues_add(struct queues *queues, const struct nlmsghdr *message);

/* The open connections to other hosts, and a dry run for their destinations. */
struct connections {
    int error; /* -errno if they are unreadable */
    uint64_t n;
    int routes_error; /* likewise for the routes to their destinations */
    struct resolved destinations;
    /* By riptided, if it manages this namespace and answers: */
    uint64_t n_told;
    uint64_t n_refused;             /* of these, those whose route the kernel refuses */
    struct explanation_row refused; /* the first of them */
};

struct host {
    struct riptide_applier_config applier; /* the numbers to check */
    uint32_t cwnd_max;                     /* the largest window, segments */
    struct networkd networkd;
    struct queues queues;
    struct connections connections;

    struct rule *rules;
    size_t n_rules;
    int rules_error;
    size_t n_routes;                      /* ours, in the kernel */
    uint64_t n_not_taken;                 /* by riptided: of these, those that TCP does not use, */
    char why_not_taken[256];              /* and why */
    bool has_holder;                      /* an applier manages this namespace */
    int holder_pid;                       /* 0: not visible from here */
    int control_error;                    /* -errno if riptided on --control did not answer, */
    struct riptide_error control_failure; /* with the line of client_ask */
    int control_pid;                      /* the process of that socket; 0: not visible */
    bool is_paused;                       /* as reported by riptided */
    bool is_holder_hidden;                /* its open files are hidden from this user */
    char apply[16];       /* the backend: routes, program, both; empty: unknown */
    char reason[256];     /* why it gives no windows by the program; empty: it does, or is not
                             configured to */
    char why[256];        /* why --apply auto chose it; empty: it was not to choose */
    bool is_suspended; /* that is the reason */
    bool is_pacing;       /* by the program, unless there is a reason */
    bool is_careful;      /* only after losses: policy careful */
    int conflict_error;           /* of a dry start by routes */
    struct riptide_error conflict;

    int receiver_error;
    uint32_t initrwnd;              /* the first receive window, segments */
    char tcp_rmem[HOST_WORD_BYTES]; /* sysctls as text; empty: unreadable */
    char congestion_control[HOST_WORD_BYTES];
    char slow_start_after_idle[HOST_WORD_BYTES];
};

/*
 * Reads all of it for the thread's network namespace; networkd's files below `root`. Errors:
 * -EINVAL (the numbers, with a line), -ENOMEM, those of socket(2). Facts that could not be read
 * have their own `error`.
 */
int host_read(struct host *host, const struct settings *settings, const char *root,
              struct riptide_error *error);

/* This namespace is managed by the riptided on --control, even if it did not answer. */
static inline bool host_is_riptided(const struct host *host)
{
    return host->control_pid == host->holder_pid &&
           (host->control_error == 0 || host->control_error == -ETIMEDOUT);
}

/* The manager of this namespace has not answered: finds its backend, as far as visible. */
void host_read_holder(struct host *host);

void host_deinit(struct host *host);

#endif
