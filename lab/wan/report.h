/* SPDX-License-Identifier: MIT */
/*
 * The counters as one line of JSON. I/O.
 */
#ifndef WAN_REPORT_H
#define WAN_REPORT_H

#include <stdio.h>

#include "network.h"
#include "tun.h"

/* tuns[i] belongs to network->ports[i]. */
void wan_report(FILE *file, struct wan_network *network, const struct wan_tun *tuns);

#endif
