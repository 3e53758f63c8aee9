/* SPDX-License-Identifier: MIT */
/*
 * What doctor reads of a host. Readers fill it and judge nothing; checks.c judges and reads
 * nothing.
 */
#ifndef CLI_DOCTOR_HOST_H
#define CLI_DOCTOR_HOST_H

#include "lib/tools.h"
#include "rules.h"

#include <linux/netlink.h>
#include <net/if.h>
#include <riptide/apply.h>

/* The segment size of Ethernet without options, for figures that must not depend on a path. */
#define TYPICAL_MSS_BYTES 1460

/* Enough for a sysctl that is a word or three numbers. */
#define HOST_WORD_BYTES 64

/* Whether systemd-networkd takes away what is not its own: networkd.conf(5). */
struct networkd_setting {
    bool is_off;    /* default: on, foreign things are removed */
    char path[160]; /* who said so last; empty: the default */
};

struct networkd {
    bool is_in_use;
    struct networkd_setting routes; /* ManageForeignRoutes= */
    struct networkd_setting rules;  /* ManageForeignRoutingPolicyRules= */
};

/* Links and their queues, as far as doctor asks: rtnetlink messages in, figures out (link.c). */

/* How many links are looked at; a host that has more has them alike. */
#define LINKS_MAX 256

struct link {
    uint32_t ifindex;
    char name[IF_NAMESIZE];
    bool is_up;
    bool is_loopback;
    bool is_vrf;
    char queue[IF_NAMESIZE]; /* kind of the root qdisc; empty: not known */
    uint32_t n_children;     /* qdiscs below the root, and of those fq */
    uint32_t n_fq_children;
};

struct links {
    int error;
    struct link list[LINKS_MAX];
    size_t n;
};

/* One RTM_NEWLINK, RTM_NEWQDISC of a dump; links come before their queues. */
void links_add(struct links *links, const struct nlmsghdr *message);
void links_add_queue(struct links *links, const struct nlmsghdr *message);

/* Whether what leaves through the link is spaced out by its queue. */
bool link_is_paced(const struct link *link);

/* What open connections say. */
struct host_connections {
    int error;          /* -errno where they cannot be read */
    uint64_t n;         /* to other hosts */
    uint64_t n_opened;  /* of those, from a port that this host gives to who connects */
};

/* A reason why destinations are left alone. */
struct host_reason {
    char text[96];
    uint64_t n;
    struct riptide_prefix example;
};

/* What would become of the destinations of the open connections. */
struct host_destinations {
    int error;
    uint64_t n;
    uint64_t n_left_alone;
    struct host_reason reasons[8]; /* the first that were met */
    size_t n_reasons;
};

/* What the kernel can. */
struct host_kernel {
    int strict_error;  /* NETLINK_GET_STRICT_CHK, Linux 4.20; ipproto in rules is older */
    int destroy_error; /* the group that tells of closed connections */
    uint32_t tcp_info_bytes;
};

struct host {
    struct riptide_router_config router; /* the numbers asked about, and cwnd_max */
    struct host_kernel kernel;
    struct networkd networkd;
    struct links links;
    struct host_connections connections;
    struct host_destinations destinations;

    struct riptide_rule *rules;
    size_t n_rules;
    int rules_error;
    size_t n_routes;    /* ours, in the kernel */
    size_t n_not_taken; /* of these, whose connections take another although our rules are there */
    struct start not_taken; /* the first of them, */
    struct riptide_prefix not_taken_dst;
    bool has_holder;    /* some router manages this namespace */
    int holder_pid;     /* 0: not to be seen from here */
    int control_error;  /* -errno where a riptided was asked on --control and gave no answer, */
    struct riptide_error control_failure; /* with the line of client_ask */
    int control_pid;                      /* whose socket that is; 0: out of sight */
    bool is_paused;                       /* as it says itself */
    int conflict_error; /* riptide_router_check */
    struct riptide_error conflict;

    bool is_initial_namespace;       /* of the network: what the machine booted with */
    uint32_t n_named_namespaces;     /* in /run/netns */

    int receiver_error;
    uint32_t initrwnd;              /* riptide_receiver_get_initrwnd */
    uint16_t local_ports[2];        /* net.ipv4.ip_local_port_range */
    char tcp_rmem[HOST_WORD_BYTES]; /* sysctls as text; empty: cannot be read */
    char congestion_control[HOST_WORD_BYTES];
    char slow_start_after_idle[HOST_WORD_BYTES];
};

/*
 * Reads all of it for the thread's network namespace; configuration files below `root`.
 * Errors: -EINVAL (the numbers, with a line), -ENOMEM, those of socket(2). What single parts could
 * not read stands in their `error`.
 */
int host_read(struct host *host, const struct riptide_router_config *router, const char *root,
              struct riptide_error *error);

void host_deinit(struct host *host);

/* Parts of host_read: open connections and their destinations; what there is below `root`. */
void host_read_connections(struct host *host);
void networkd_read(struct networkd *networkd, const char *root);

#endif
