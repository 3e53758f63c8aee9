/* SPDX-License-Identifier: MIT */
/* Reads the lines of a plan. Pure; main.c reports the wrong line. */
#include "plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool traffic_parse_host(const char *line, struct traffic_host *hostp)
{
    struct traffic_host host;

    if (sscanf(line, "host %31s %31s", host.name, host.address) != 2)
        return false;
    *hostp = host;
    return true;
}

static bool find_host(const struct traffic_host *hosts, size_t n_hosts, const char *name,
                      unsigned int *indexp)
{
    for (unsigned int i = 0; i < n_hosts; i++) {
        if (!strcmp(hosts[i].name, name)) {
            *indexp = i;
            return true;
        }
    }
    return false;
}

bool traffic_parse_order(const char *line, const struct traffic_host *hosts, size_t n_hosts,
                         struct traffic_order *orderp)
{
    char kind[8], from[TRAFFIC_NAME_SIZE], to[TRAFFIC_NAME_SIZE], fresh[8];
    struct traffic_order order = { .look = false };

    if (sscanf(line, "look %" SCNu64, &order.at_us) == 1) {
        order.look = true;
        *orderp = order;
        return true;
    }
    if (sscanf(line, "%7s %" SCNu64 " %31s %31s %31s %" SCNu64 " %15s %7s %" SCNu64, kind,
               &order.at_us, order.tag, from, to, &order.bytes, order.congestion, fresh,
               &order.idle_us) != 9)
        return false;
    if (!find_host(hosts, n_hosts, from, &order.from) || !find_host(hosts, n_hosts, to, &order.to))
        return false;
    order.push = !strcmp(kind, "push");
    order.reuse = !strcmp(fresh, "reuse");
    if ((!order.push && strcmp(kind, "pull")) || (!order.reuse && strcmp(fresh, "fresh")))
        return false;
    if (order.bytes == 0)
        return false;
    *orderp = order;
    return true;
}
