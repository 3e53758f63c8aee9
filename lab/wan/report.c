/* SPDX-License-Identifier: MIT */
/*
 * Prints counters. Names need no escaping: they are those of namespaces.
 */
#include "report.h"

#include <inttypes.h>

static void print_count(FILE *file, const char *name, uint64_t count)
{
    fprintf(file, "\"%s\":%" PRIu64 ",", name, count);
}

static void print_late(FILE *file, const char *name, const struct wan_histogram *late)
{
    fprintf(file, "\"%s\":{\"p50\":%.3f,\"p99\":%.3f,\"max\":%.3f}", name,
            (double)wan_histogram_percentile_ns(late, 50) / 1e3,
            (double)wan_histogram_percentile_ns(late, 99) / 1e3, (double)late->max_ns / 1e3);
}

static void print_port(FILE *file, const struct wan_port *port, const struct wan_tun *tun)
{
    uint64_t dropped;

    fprintf(file, "{\"port\":\"%s\",", port->name);
    print_count(file, "packets", port->packets);
    print_count(file, "unroutable", port->unroutable);
    print_count(file, "multicast", port->multicast);
    print_count(file, "malformed", port->malformed);
    print_count(file, "dropped_uplink", port->dropped_uplink);
    print_count(file, "dropped_downlink", port->dropped_downlink);
    if (wan_tun_dropped(tun, &dropped))
        fputs("\"dropped_tun\":null}", file);
    else
        fprintf(file, "\"dropped_tun\":%" PRIu64 "}", dropped);
}

static void print_path(FILE *file, const struct wan_path *path)
{
    uint64_t gone = path->delivered_packets + path->undelivered + path->dropped_buffer +
                    path->dropped_loss + path->dropped_memory;

    fputc('{', file);
    print_count(file, "packets", path->packets);
    print_count(file, "bytes", path->bytes);
    print_count(file, "delivered_packets", path->delivered_packets);
    print_count(file, "delivered_bytes", path->delivered_bytes);
    print_count(file, "dropped_buffer", path->dropped_buffer);
    print_count(file, "dropped_loss", path->dropped_loss);
    print_count(file, "dropped_memory", path->dropped_memory);
    print_count(file, "undelivered", path->undelivered);
    print_count(file, "in_flight", path->packets - gone);
    print_late(file, "delay_error_us", &path->late_ns);
    fputc('}', file);
}

void wan_report(FILE *file, struct wan_network *network, const struct wan_tun *tuns)
{
    struct wan_histogram late = { .count = 0 };

    fputs("{\"ports\":[", file);
    for (size_t i = 0; i < network->port_count; i++) {
        fputs(i ? "," : "", file);
        print_port(file, &network->ports[i], &tuns[i]);
    }
    fputs("],\"paths\":[", file);
    for (size_t i = 0; i < network->path_count; i++) {
        fputs(i ? "," : "", file);
        print_path(file, &network->paths[i]);
        wan_histogram_merge(&late, &network->paths[i].late_ns);
    }
    fputs("],", file);
    print_late(file, "delay_error_us", &late);
    fputc(',', file);
    print_late(file, "recent_delay_error_us", &network->recent_late_ns);
    network->recent_late_ns = (struct wan_histogram){ .count = 0 };
    fputs("}\n", file);
    fflush(file);
}
