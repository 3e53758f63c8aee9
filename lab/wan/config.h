/* SPDX-License-Identifier: MIT */
/*
 * Options of the form `key=value,key=value` into a network. Pure: refusals are text for the caller.
 */
#ifndef WAN_CONFIG_H
#define WAN_CONFIG_H

#include <stddef.h>

#include "network.h"

struct wan_refusal {
    char text[512]; /* one line: what, and the remedy */
};

/* 0, -EINVAL with a refusal, or -ENOMEM. A path keeps `text`; the ports it names come before it. */
int wan_config_port(struct wan_network *network, const char *text, struct wan_refusal *refusal);
int wan_config_path(struct wan_network *network, const char *text, struct wan_refusal *refusal);

/*
 * `N KEY=VALUE,...`: changes the n-th path, from 1 on, while it runs. Packets on the path
 * arrive when they were due; those that its link has not sent yet leave at the new rate.
 */
int wan_config_change(struct wan_network *network, const char *text, uint64_t now_ns,
                      struct wan_refusal *refusal);

/* After the last option. */
int wan_config_finish(struct wan_network *network, struct wan_refusal *refusal);

#endif
