/* SPDX-License-Identifier: MIT */
/* riptide observe: a dump of the open connections, summed up for each peer. */
#include "commands.h"
#include "log.h"
#include "members.h"
#include "sockets.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Adds a connection to the row of its peer, as --json prints it. Windows are in segments. */
static void sum_up(void *userdata, const struct riptide_sample *sample)
{
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];
    const json_t *row;
    json_int_t n, most, min_rtt_us;
    double mean;

    riptide_prefix_format(&sample->dst, dst);
    /* Of a new peer all are 0. */
    row = get(userdata, dst);
    n = number(row, "connections") + 1;
    mean = real(row, "cwnd_mean");
    most = number(row, "cwnd_max") > sample->cwnd ? number(row, "cwnd_max") : sample->cwnd;
    min_rtt_us = number(row, "min_rtt_us");
    if (min_rtt_us == 0 || (sample->min_rtt_us > 0 && sample->min_rtt_us < min_rtt_us))
        min_rtt_us = sample->min_rtt_us;
    json_object_set_new(
        userdata, dst,
        json_pack("{s:s, s:I, s:f, s:I, s:o, s:I, s:I}", "dst", dst, "connections", n, "cwnd_mean",
                  mean + (sample->cwnd - mean) / (double)n, "cwnd_max", most, "min_rtt_us",
                  figure_or_null((uint64_t)min_rtt_us), "acked_bytes",
                  number(row, "acked_bytes") + (json_int_t)sample->acked_bytes, "retrans_segs",
                  number(row, "retrans_segs") + (json_int_t)sample->retrans_segs));
}

/* Those that were sent most first. */
static int compare(const void *left, const void *right)
{
    const json_t *a = *(json_t *const *)left, *b = *(json_t *const *)right;
    const long long more = number(b, "acked_bytes") - number(a, "acked_bytes");

    if (more != 0)
        return more > 0 ? 1 : -1;
    return strcmp(text_of(a, "dst"), text_of(b, "dst"));
}

/* An array of the rows, which are taken from the object. */
static json_t *sort(json_t *rows)
{
    const size_t n = json_object_size(rows);
    json_t **sorted = calloc(n + 1, sizeof(json_t *)), *array = json_array(), *row;
    const char *dst;
    size_t i = 0;

    if (!sorted)
        command_fail(EXIT_FAILURE, "no memory for %zu destinations", n);
    json_object_foreach(rows, dst, row) sorted[i++] = row;
    qsort(sorted, n, sizeof(*sorted), compare);
    for (i = 0; i < n; i++)
        json_array_append(array, sorted[i]);
    json_object_clear(rows);
    free(sorted);
    return array;
}

static void print_table(const json_t *rows, uint32_t top)
{
    const size_t n = json_array_size(rows);
    long long n_connections = 0;
    const json_t *row;
    double min_rtt_ms;
    size_t i;

    printf("%-39s CONNS CWND   MAX RTT/ms  RETR ACKED/MB\n", "DESTINATION");
    json_array_foreach(rows, i, row)
    {
        n_connections += number(row, "connections");
        if (top > 0 && i >= top)
            continue;
        min_rtt_ms = real(row, "min_rtt_us") / 1e3;
        printf("%-39s %5lld %4.0f %5lld", text_of(row, "dst"), number(row, "connections"),
               real(row, "cwnd_mean"), number(row, "cwnd_max"));
        printf(min_rtt_ms > 0 ? " %6.*f" : "      -", min_rtt_ms < 1000, min_rtt_ms);
        printf(" %5lld %8.1f\n", number(row, "retrans_segs"), real(row, "acked_bytes") / 1e6);
    }
    if (top > 0 && top < n)
        printf("... %zu more (--top 0), sorted by ACKED\n", n - top);
    printf("%zu destinations, %lld connections open now\n", n, n_connections);
}

int observe_run(const struct command_options *options)
{
    struct riptide_observer *observer = sockets_open(options);
    json_t *peers = json_object(), *rows;

    do {
        sockets_dump(observer, peers, sum_up);
        rows = sort(peers);
        if (options->watch && !options->json && isatty(STDOUT_FILENO))
            fputs("\033[H\033[2J", stdout);
        if (options->json)
            command_print_json(json_pack("{s:O}", "destinations", rows));
        else
            print_table(rows, options->top);
        json_decref(rows);
    } while (options->watch && fflush(stdout) == 0 && sleep(1) == 0);
    json_decref(peers);
    riptide_observer_free(observer);
    return EXIT_SUCCESS;
}
