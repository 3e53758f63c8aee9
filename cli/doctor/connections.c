/* SPDX-License-Identifier: MIT */
/*
 * One dump of the open connections for doctor: how many, and what would become of their
 * destinations.
 */
#include "host.h"
#include "lib/tools.h"
#include "resolve.h"
#include "samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Destinations that are asked about: more of them have the same routes. */
enum { MAX_DESTINATIONS = 16384 };

struct reading {
    struct host *host;
    struct riptide_prefix *peers; /* one that has many connections may be there many times */
    size_t n_peers;
};

static int add(void *userdata, const struct riptide_sample *sample)
{
    struct reading *reading = userdata;

    reading->host->connections.n++;
    reading->host->connections.n_opened += sample->local_port >= reading->host->local_ports[0] &&
                                           sample->local_port <= reading->host->local_ports[1];
    if (reading->n_peers < MAX_DESTINATIONS &&
        (reading->n_peers == 0 ||
         !riptide_prefix_equal(&reading->peers[reading->n_peers - 1], &sample->dst)))
        reading->peers[reading->n_peers++] = sample->dst;
    return 0;
}

static void clear(void *userdata)
{
    struct reading *reading = userdata;

    reading->host->connections = (struct host_connections){ .error = 0 };
    reading->n_peers = 0;
}

static void on_answer(void *userdata, const struct riptide_route *route)
{
    struct host_destinations *destinations = userdata;
    struct host_reason *reason = destinations->reasons;
    const struct host_reason *end = reason + destinations->n_reasons;

    destinations->n++;
    if (route->state == RIPTIDE_ROUTE_APPLIED)
        return;
    destinations->n_left_alone++;
    while (reason < end && strcmp(reason->text, route->reason) != 0)
        reason++;
    if (reason == end) {
        if (destinations->n_reasons ==
            sizeof(destinations->reasons) / sizeof(destinations->reasons[0]))
            return;
        destinations->n_reasons++;
        *reason = (struct host_reason){ .example = route->dst };
        memcpy(reason->text, route->reason, sizeof(reason->text));
    }
    reason->n++;
}

void host_read_connections(struct host *host)
{
    struct reading reading = {
        .host = host,
        .peers = calloc(MAX_DESTINATIONS, sizeof(*reading.peers)),
    };
    const struct samples_sink sink = { .add = add, .clear = clear, .userdata = &reading };
    struct riptide_error error;

    host->connections.error = reading.peers ? samples_observe(NULL, &sink, NULL, &error) : -ENOMEM;
    if (host->connections.error == 0 && reading.n_peers > 0)
        host->destinations.error =
            resolve(&host->router, reading.peers, reading.n_peers, host->router.cwnd_max, false,
                    on_answer, &host->destinations, &error);
    free(reading.peers);
}
