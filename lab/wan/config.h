/* SPDX-License-Identifier: MIT */
/*
 * The network, a line of numbers at a time, as wanbox.py writes them. Pure.
 *
 *     port NAME NETNS UP_BPS UP_BYTES DOWN_BPS DOWN_BYTES
 *     net PORT PREFIX             lives behind that port
 *     path DELAY_NS BPS BYTES LOSS SEED JITTER_NS
 *     route PORT PATH PREFIX      packets of that port to there take that path
 *     change PATH DELAY_NS BPS BYTES LOSS SEED JITTER_NS
 *
 * Ports and paths are numbered from 0 on, in their order. A rate of 0 is infinitely fast. A PREFIX is
 * its address as two hexadecimal numbers, IPv4 as ::ffff:a.b.c.d, and its length of 128.
 */
#ifndef WAN_CONFIG_H
#define WAN_CONFIG_H

#include "network.h"

/*
 * -EINVAL; -EEXIST: the prefix is there already; -ENOMEM. After a change packets on the path arrive
 * when they were due; those that its link has not sent yet leave at the new rate.
 */
int wan_config_read(struct wan_network *network, const char *line, uint64_t now_ns);

#endif
