/* SPDX-License-Identifier: MIT */
/*
 * The language of plans: hosts, and transfers between them. Pure.
 */
#ifndef TRAFFIC_PLAN_H
#define TRAFFIC_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRAFFIC_NAME_SIZE 32
#define TRAFFIC_HOSTS_MAX 128

struct traffic_host {
    char name[TRAFFIC_NAME_SIZE]; /* of its network namespace, too */
    char address[TRAFFIC_NAME_SIZE];
};

struct traffic_order {
    uint64_t at_us; /* after `go` */
    bool look;      /* reports the windows of all connections; all members below are unused */
    char tag[TRAFFIC_NAME_SIZE];
    unsigned int from, to; /* sender and receiver of the object: indices of hosts */
    bool push;             /* the sender opens the connection; else the receiver, with a request */
    uint64_t bytes;
    char congestion[16];
    bool reuse;       /* on an idle connection of the same ends, if there is one */
    uint64_t idle_us; /* how long the connection stays open afterwards */
};

/* `host NAME ADDRESS` */
bool traffic_parse_host(const char *line, struct traffic_host *hostp);

/* `look AT_US` or `pull|push AT_US TAG FROM TO BYTES CONGESTION fresh|reuse IDLE_US` */
bool traffic_parse_order(const char *line, const struct traffic_host *hosts, size_t n_hosts,
                         struct traffic_order *orderp);

#endif
