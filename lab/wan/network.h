/* SPDX-License-Identifier: MIT */
/*
 * Ports, paths, and a packet's way from one port to another:
 *     port's uplink -> path (link, loss, delay) -> other port's downlink -> other port
 * Pure: main.c brings packets in and takes them out, config.c builds the network.
 */
#ifndef WAN_NETWORK_H
#define WAN_NETWORK_H

#include <stddef.h>
#include <stdint.h>

#include "path.h"
#include "queue.h"
#include "route.h"

#define WAN_NAME_SIZE 32

struct wan_port {
    char name[WAN_NAME_SIZE];
    char netns[256]; /* a name in /run/netns, or a path */
    struct wan_link uplink, downlink; /* shared by all paths from and to this port */
    struct wan_table paths;           /* destination -> index of a path */

    uint64_t packets, malformed, multicast, unroutable;
    uint64_t dropped_uplink, dropped_downlink;
};

struct wan_network {
    struct wan_port *ports;
    struct wan_path *paths;
    size_t port_count, path_count, capacity;
    struct wan_table nets; /* destination -> index of a port */
    struct wan_queue queue;
    struct wan_histogram recent_late_ns; /* of all paths, since the last report */
};

enum wan_stage {
    WAN_AT_UPLINK,
    WAN_AT_PATH,
    WAN_AT_DOWNLINK,
    WAN_AT_PORT,
};

struct wan_packet {
    uint64_t due_ns; /* when it gets to its stage */
    enum wan_stage stage;
    struct wan_port *from, *to;
    struct wan_path *path;
    size_t length_bytes;
    uint8_t data[];
};

/* Room for `capacity` ports and as many paths; they never move. -ENOMEM */
int wan_network_init(struct wan_network *network, size_t capacity, size_t packets_max);

/* Takes a copy of a packet from the host behind a port, and counts it. */
void wan_network_offer(struct wan_network *network, struct wan_port *from, uint64_t now_ns,
                       const uint8_t *data, size_t length_bytes);

/* The next packet that has reached its port by now, to be freed by the caller; NULL: none yet. */
struct wan_packet *wan_network_next(struct wan_network *network, uint64_t now_ns);

#endif
