/* SPDX-License-Identifier: MIT */
/*
 * Moves packets through the stages. Each step happens at the packet's own due time, not at the time
 * of the wake-up: a late wake-up delays that delivery and no later one.
 */
#include "network.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int wan_network_init(struct wan_network *network, size_t capacity, size_t packets_max)
{
    *network = (struct wan_network){ .capacity = capacity };
    network->ports = calloc(capacity, sizeof(*network->ports));
    network->paths = calloc(capacity, sizeof(*network->paths));
    if (!network->ports || !network->paths)
        return -ENOMEM;
    return wan_queue_init(&network->queue, packets_max);
}

void wan_network_offer(struct wan_network *network, struct wan_port *from, uint64_t now_ns,
                       const uint8_t *data, size_t length_bytes)
{
    struct wan_address destination;
    struct wan_packet *packet;
    struct wan_path *path;
    uint32_t port_index, path_index;

    from->packets++;
    if (!wan_packet_destination(data, length_bytes, &destination)) {
        from->malformed++;
        return;
    }
    if (wan_address_is_multicast(&destination)) {
        from->multicast++;
        return;
    }
    /* A packet for its own port would come straight back if that host forwards. */
    if (!wan_table_find(&network->nets, &destination, &port_index) ||
        &network->ports[port_index] == from ||
        !wan_table_find(&from->paths, &destination, &path_index)) {
        from->unroutable++;
        return;
    }
    path = &network->paths[path_index];
    path->packets++;
    path->bytes += length_bytes;
    packet = network->queue.count < network->queue.capacity ? malloc(sizeof(*packet) + length_bytes)
                                                            : NULL;
    if (!packet) {
        path->dropped_memory++;
        return;
    }
    *packet = (struct wan_packet){
        .due_ns = now_ns,
        .from = from,
        .to = &network->ports[port_index],
        .path = path,
        .length_bytes = length_bytes,
    };
    memcpy(packet->data, data, length_bytes);
    wan_queue_push(&network->queue, now_ns, packet);
}

static enum wan_verdict advance(struct wan_packet *packet)
{
    uint64_t now_ns = packet->due_ns;
    enum wan_verdict verdict = WAN_PASS;

    switch (packet->stage) {
    case WAN_AT_UPLINK:
        verdict =
            wan_link_enqueue(&packet->from->uplink, now_ns, packet->length_bytes, &packet->due_ns);
        packet->from->dropped_uplink += verdict != WAN_PASS;
        packet->stage = WAN_AT_PATH;
        break;
    case WAN_AT_PATH:
        verdict = wan_path_enqueue(packet->path, now_ns, packet->length_bytes, &packet->due_ns);
        packet->stage = WAN_AT_DOWNLINK;
        break;
    case WAN_AT_DOWNLINK:
        verdict =
            wan_link_enqueue(&packet->to->downlink, now_ns, packet->length_bytes, &packet->due_ns);
        packet->to->dropped_downlink += verdict != WAN_PASS;
        packet->stage = WAN_AT_PORT;
        break;
    case WAN_AT_PORT:
        break;
    }
    packet->path->dropped_buffer += verdict == WAN_DROP_BUFFER;
    packet->path->dropped_loss += verdict == WAN_DROP_LOSS;
    return verdict;
}

struct wan_packet *wan_network_next(struct wan_network *network, uint64_t now_ns)
{
    struct wan_packet *packet;

    while ((packet = wan_queue_pop_due(&network->queue, now_ns))) {
        if (packet->stage == WAN_AT_PORT)
            return packet;
        /*
         * Back into the queue after each step, even if no time passed: a link that several paths
         * share must see their packets in order of time.
         */
        if (advance(packet) == WAN_PASS)
            wan_queue_push(&network->queue, packet->due_ns, packet);
        else
            free(packet);
    }
    return NULL;
}
