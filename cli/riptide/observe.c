/* SPDX-License-Identifier: MIT */
/* riptide observe: a dump of the open connections, summed up for each peer. */
#include "command.h"
#include "members.h"
#include "peers.h"
#include "sockets.h"
#include "table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* What people read of a row. */
static const struct column columns[] = {
    { "dst", "DESTINATION", -39, CELL_TEXT },
    { "connections", "CONNS", 5, CELL_COUNT },
    { "cwnd_mean", "CWND", 4, CELL_MEAN },
    { "cwnd_max", "MAX", 5, CELL_COUNT },
    { "min_rtt_us", "RTT/ms", 6, CELL_MS }, /* the smallest of its connections */
    { "retrans_segs", "RETRANS", 7, CELL_COUNT },
    { "acked_bytes", "ACKED/MB", 8, CELL_MB }, /* by which rows are sorted */
};

#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

static json_t *row_json(const struct peer *peer)
{
    const double cwnd_mean = (double)peer->cwnd_sum / (double)peer->connections;
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];

    riptide_prefix_format(&peer->dst, dst);
    return json_pack("{s:s, s:I, s:f, s:I, s:o, s:I, s:I}", "dst", dst, "connections",
                     (json_int_t)peer->connections, "cwnd_mean", cwnd_mean, "cwnd_max",
                     (json_int_t)peer->cwnd_max, "min_rtt_us", figure_or_null(peer->min_rtt_us),
                     "retrans_segs", (json_int_t)peer->retrans_segs, "acked_bytes",
                     (json_int_t)peer->acked_bytes);
}

static void take(void *userdata, const struct riptide_sample *const *samples, size_t n)
{
    if (peers_add(userdata, samples, n) < 0)
        command_fail(EXIT_FAILURE, "%s", strerror(ENOMEM));
}

static void print_json(const struct peers *peers)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < peers->n; i++)
        json_array_append_new(rows, row_json(&peers->slots[i]));
    command_print_json(json_pack("{s:o}", "destinations", rows));
}

static void print_table(const struct peers *peers, uint32_t top)
{
    const size_t n_shown = top > 0 && top < peers->n ? top : peers->n;
    uint64_t n_connections = 0;
    json_t *row;

    table_put_headings(columns, N_COLUMNS);
    for (size_t i = 0; i < n_shown; i++) {
        row = row_json(&peers->slots[i]);
        table_put_row(columns, N_COLUMNS, row);
        json_decref(row);
    }
    for (size_t i = 0; i < peers->n; i++)
        n_connections += peers->slots[i].connections;
    if (n_shown < peers->n)
        printf("... %zu more (--top 0), sorted by ACKED\n", peers->n - n_shown);
    printf("%zu destinations, %" PRIu64 " connections open now\n", peers->n, n_connections);
}

int observe_run(const struct command_options *options)
{
    struct riptide_observer *observer = sockets_open(options);
    const bool is_screen = options->watch && !options->json && isatty(STDOUT_FILENO);
    struct peers peers = { .n = 0 };

    if (getrandom(peers.keys, sizeof(peers.keys), 0) < 0)
        command_fail(EXIT_FAILURE, "%s", strerror(errno));
    do {
        peers_clear(&peers);
        sockets_dump(observer, &peers, take);
        peers_sort(&peers);
        if (is_screen)
            fputs("\033[H\033[2J", stdout);
        if (options->json)
            print_json(&peers);
        else
            print_table(&peers, options->top);
    } while (options->watch && fflush(stdout) == 0 && sleep(1) == 0);
    peers_deinit(&peers);
    riptide_observer_free(observer);
    return EXIT_SUCCESS;
}
