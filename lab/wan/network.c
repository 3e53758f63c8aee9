/* SPDX-License-Identifier: MIT */
/*
 * Each step happens at the packet's own due time, not at the time of the wake-up: a late wake-up
 * delays that delivery and no later one.
 */
#include "network.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_port(struct network *network, const char *line)
{
    struct port port = { .fd = -1 };

    if (network->port_count == PORTS_MAX ||
        sscanf(line, "port %d %" SCNu64 " %" SCNu64, &port.fd, &port.downlink.rate_bps,
               &port.downlink.buffer_bytes) != 3)
        return false;
    network->ports[network->port_count++] = port;
    return true;
}

static bool read_path(struct network *network, const char *line)
{
    struct path path = { .packets = 0 };

    if (network->path_count == PATHS_MAX ||
        sscanf(line, "path %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
               &path.link.rate_bps, &path.link.buffer_bytes, &path.delay_ns, &path.loss,
               &path.random_state, &path.jitter_ns) != 6)
        return false;
    network->paths[network->path_count++] = path;
    return true;
}

static bool read_net(struct network *network, const char *line)
{
    struct net net = { .bits = 0 };
    char digits[33];

    if (network->net_count == NETS_MAX ||
        sscanf(line, "net %zu %32s %u", &net.port, digits, &net.bits) != 3 ||
        net.port >= network->port_count || net.bits > 128)
        return false;
    for (size_t i = 0; i < sizeof(net.address); i++) {
        if (sscanf(digits + 2 * i, "%2" SCNx8, &net.address[i]) != 1)
            return false;
    }
    network->nets[network->net_count++] = net;
    return true;
}

static bool read_route(struct network *network, const char *line)
{
    size_t from, to, path;

    if (sscanf(line, "route %zu %zu %zu", &from, &to, &path) != 3 || from >= network->port_count ||
        to >= network->port_count || path >= network->path_count)
        return false;
    network->path_of[from][to] = &network->paths[path];
    return true;
}

bool network_read(struct network *network, const char *line)
{
    return read_port(network, line) || read_path(network, line) || read_net(network, line) ||
           read_route(network, line);
}

static bool contains(const struct net *net, const uint8_t address[16])
{
    size_t n_bytes = net->bits / 8;
    unsigned int rest = net->bits % 8;

    return memcmp(net->address, address, n_bytes) == 0 &&
           (rest == 0 || (net->address[n_bytes] ^ address[n_bytes]) >> (8 - rest) == 0);
}

/* NULL: it is no IP packet, or nobody lives there, as behind a multicast address. */
static struct port *destination_of(struct network *network, const uint8_t *data,
                                   size_t length_bytes)
{
    uint8_t address[16] = { [10] = 0xff, [11] = 0xff };

    if (length_bytes >= 20 && data[0] >> 4 == 4)
        memcpy(address + 12, data + 16, 4);
    else if (length_bytes >= 40 && data[0] >> 4 == 6)
        memcpy(address, data + 24, 16);
    else
        return NULL;
    for (size_t i = 0; i < network->net_count; i++) {
        if (contains(&network->nets[i], address))
            return &network->ports[network->nets[i].port];
    }
    return NULL;
}

/* splitmix64 (Vigna, public domain): good enough for loss, and any seed will do. */
static uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t max_ns(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns > b_ns ? a_ns : b_ns;
}

/* Rounds down, here and for the buffer: then k packets always fit where k times their size does. */
static uint64_t serialise_ns(const struct link *link, uint64_t length_bytes)
{
    return length_bytes * 8 * NS_PER_S / link->rate_bps;
}

/* Moves *at_ns on to when the link has sent the packet. False: the buffer has no room. */
static bool pass_link(struct link *link, uint64_t *at_ns, size_t length_bytes)
{
    uint64_t leave_ns;

    if (!link->rate_bps)
        return true;
    leave_ns = max_ns(*at_ns, link->free_ns) + serialise_ns(link, length_bytes);
    if (leave_ns - *at_ns > serialise_ns(link, link->buffer_bytes))
        return false;
    link->free_ns = *at_ns = leave_ns;
    return true;
}

/* Moves *at_ns on to when the packet comes out of the path. False: it does not. */
static bool pass_path(struct path *path, uint64_t *at_ns, size_t length_bytes)
{
    /*
     * Two numbers for every packet, needed or not: packet n of a path is lost, or not, whatever
     * the buffer did to those before it and whether or not there is jitter.
     */
    uint64_t chance = random_next(&path->random_state) >> 11;
    uint64_t jitter_ns = random_next(&path->random_state) % (path->jitter_ns + 1);

    path->packets++;
    if (!pass_link(&path->link, at_ns, length_bytes)) {
        path->dropped_buffer++;
        return false;
    }
    /* Lost on the wire, not before it: the packet has used up its share of the rate. */
    if (chance < path->loss) {
        path->dropped_loss++;
        return false;
    }
    *at_ns = path->last_due_ns = max_ns(*at_ns + path->delay_ns + jitter_ns, path->last_due_ns);
    return true;
}

int network_offer(struct network *network, struct port *from, uint64_t now_ns, const uint8_t *data,
                  size_t length_bytes)
{
    struct port *to = destination_of(network, data, length_bytes);
    struct path *path = to ? network->path_of[from - network->ports][to - network->ports] : NULL;
    struct packet *packet;

    from->packets++;
    if (!path) {
        from->unroutable++;
        return 0;
    }
    if (!pass_path(path, &now_ns, length_bytes))
        return 0;
    if (network->queue.count == QUEUE_PACKETS_MAX ||
        !(packet = malloc(sizeof(*packet) + length_bytes)))
        return -ENOMEM;
    *packet =
        (struct packet){ .due_ns = now_ns, .to = to, .path = path, .length_bytes = length_bytes };
    memcpy(packet->data, data, length_bytes);
    queue_push(&network->queue, packet->due_ns, packet);
    return 0;
}

struct packet *network_next(struct network *network, uint64_t now_ns)
{
    struct packet *packet;

    while ((packet = queue_pop_due(&network->queue, now_ns))) {
        if (packet->has_left_downlink)
            return packet;
        packet->has_left_downlink = true;
        /* Back into the queue even if no time passed, so that packets leave in order of time. */
        if (pass_link(&packet->to->downlink, &packet->due_ns, packet->length_bytes)) {
            queue_push(&network->queue, packet->due_ns, packet);
        } else {
            packet->to->dropped_downlink++;
            packet->path->dropped_buffer++;
            free(packet);
        }
    }
    return NULL;
}
