/* SPDX-License-Identifier: MIT */
/*
 * Ports, the paths between them, and a packet's way:
 *     path (rate, buffer, loss, delay) -> other port's downlink (rate, buffer) -> other port
 * Pure: time comes in as an argument. main.c brings packets in and takes them out.
 */
#ifndef WAN_NETWORK_H
#define WAN_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "queue.h"

#define NS_PER_S  UINT64_C(1000000000)
#define PORTS_MAX 256
#define NETS_MAX  1024
#define PATHS_MAX 4096

/* A transmitter with a drop-tail buffer, which holds packets that are not yet serialised. */
struct link {
    uint64_t rate_bps; /* 0: infinitely fast, never drops */
    uint64_t buffer_bytes;
    uint64_t free_ns; /* when the last accepted packet will have been serialised */
};

struct port {
    int fd;               /* a TUN device: one IP packet per read and write */
    struct link downlink; /* shared by all paths to this port */
    uint64_t packets, unroutable, dropped_downlink;
};

struct path {
    struct link link;
    uint64_t delay_ns;
    uint64_t loss; /* of 2^53 */
    uint64_t random_state;
    uint64_t jitter_ns; /* up to this much more delay, uniform */
    uint64_t last_due_ns;
    uint64_t packets, delivered_packets, delivered_bytes, dropped_buffer, dropped_loss, undelivered;
};

/* What lives behind a port; IPv4 as ::ffff:a.b.c.d. */
struct net {
    uint8_t address[16];
    unsigned int bits;
    size_t port;
};

struct network {
    struct port ports[PORTS_MAX];
    struct path paths[PATHS_MAX];
    struct net nets[NETS_MAX]; /* the longest first */
    struct path *path_of[PORTS_MAX][PORTS_MAX];
    size_t port_count, path_count, net_count;
    struct queue queue;
};

struct packet {
    uint64_t due_ns; /* at the downlink, then at the port */
    bool has_left_downlink;
    struct port *to;
    struct path *path;
    size_t length_bytes;
    uint8_t data[];
};

/*
 * Reads a line of numbers, as wanbox.py writes it:
 *
 *     port FD DOWN_BPS DOWN_BYTES
 *     net PORT ADDRESS BITS           the address in hexadecimal
 *     path BPS BYTES DELAY_NS LOSS SEED JITTER_NS
 *     route FROM_PORT TO_PORT PATH
 *
 * Ports and paths are numbered from 0 on, in their order. False: it is wrong, or one too many.
 */
bool network_read(struct network *network, const char *line);

/* Takes a copy of a packet from the host behind a port. -ENOMEM: there are too many on their way. */
int network_offer(struct network *network, struct port *from, uint64_t now_ns, const uint8_t *data,
                  size_t length_bytes);

/* The next packet that has reached its port by now, to be freed by the caller; NULL: none yet. */
struct packet *network_next(struct network *network, uint64_t now_ns);

#endif
