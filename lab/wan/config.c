/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NUMBER " %" SCNu64
#define VALUES NUMBER NUMBER NUMBER NUMBER NUMBER NUMBER
#define PREFIX " %" SCNx64 " %" SCNx64 " %u"

static int read_port(struct wan_network *network, const char *line)
{
    struct wan_port port = { .packets = 0 };

    if (sscanf(line, "port %31s %255s" NUMBER NUMBER NUMBER NUMBER, port.name, port.netns,
               &port.uplink.rate_bps, &port.uplink.buffer_bytes, &port.downlink.rate_bps,
               &port.downlink.buffer_bytes) != 6)
        return -EINVAL;
    network->ports[network->port_count++] = port;
    return 0;
}

static bool read_values(const char *line, struct wan_path *path)
{
    return sscanf(line, VALUES, &path->delay_ns, &path->link.rate_bps, &path->link.buffer_bytes,
                  &path->loss, &path->seed, &path->jitter_ns) == 6;
}

static int read_path(struct wan_network *network, const char *values)
{
    struct wan_path path = { .packets = 0 };

    if (!read_values(values, &path))
        return -EINVAL;
    path.random_state = path.seed;
    network->paths[network->path_count++] = path;
    return 0;
}

static int change_path(struct wan_network *network, const char *line, uint64_t now_ns)
{
    struct wan_path *path;
    uint64_t old_bps;
    uint32_t number;
    int used;

    if (sscanf(line, "change %" SCNu32 "%n", &number, &used) != 1 || number >= network->path_count)
        return -EINVAL;
    path = &network->paths[number];
    old_bps = path->link.rate_bps;
    if (!read_values(line + used, path))
        return -EINVAL;
    if (path->link.free_ns > now_ns && old_bps && path->link.rate_bps)
        path->link.free_ns = now_ns + (uint64_t)((double)(path->link.free_ns - now_ns) *
                                                 (double)old_bps / (double)path->link.rate_bps);
    return 0;
}

int wan_config_read(struct wan_network *network, const char *line, uint64_t now_ns)
{
    struct wan_address address;
    struct wan_prefix prefix;
    uint32_t port, path;
    unsigned int bits;

    if (sscanf(line, "net %" SCNu32 PREFIX, &port, &address.high, &address.low, &bits) == 4 &&
        port < network->port_count && bits <= 128) {
        prefix = wan_prefix_of(address, bits);
        return wan_table_add(&network->nets, &prefix, port);
    }
    if (sscanf(line, "route %" SCNu32 " %" SCNu32 PREFIX, &port, &path, &address.high, &address.low,
               &bits) == 5 &&
        port < network->port_count && path < network->path_count && bits <= 128) {
        prefix = wan_prefix_of(address, bits);
        return wan_table_add(&network->ports[port].paths, &prefix, path);
    }
    if (!strncmp(line, "port", 4))
        return read_port(network, line);
    if (!strncmp(line, "path", 4))
        return read_path(network, line + 4);
    return change_path(network, line, now_ns);
}
