/* SPDX-License-Identifier: MIT */
/* riptide observe: a dump of the open connections, summed up for each peer. */
#include "commands.h"

#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The sum of a peer's connections. Windows in segments; 0: no connection had that figure. */
struct sum {
    struct riptide_prefix dst;
    uint64_t connections;
    uint64_t cwnd_total, cwnd_max;
    uint64_t min_rtt_us;
    uint64_t acked_bytes;
    uint64_t retrans_segs;
};

struct sums {
    struct sum *rows; /* a peer may have several until they are merged */
    size_t n, capacity;
};

static int compare_dst(const void *left, const void *right)
{
    return memcmp(left, right, sizeof(struct riptide_prefix));
}

static void merge_row(struct sum *sum, const struct sum *other)
{
    sum->connections += other->connections;
    sum->cwnd_total += other->cwnd_total;
    if (other->cwnd_max > sum->cwnd_max)
        sum->cwnd_max = other->cwnd_max;
    if (sum->min_rtt_us == 0 || (other->min_rtt_us > 0 && other->min_rtt_us < sum->min_rtt_us))
        sum->min_rtt_us = other->min_rtt_us;
    sum->acked_bytes += other->acked_bytes;
    sum->retrans_segs += other->retrans_segs;
}

/* One row for each peer. */
static void merge(struct sums *sums)
{
    size_t n = 0;

    if (sums->n > 0)
        qsort(sums->rows, sums->n, sizeof(*sums->rows), compare_dst);
    for (size_t i = 0; i < sums->n; i++) {
        if (n > 0 && compare_dst(&sums->rows[n - 1], &sums->rows[i]) == 0)
            merge_row(&sums->rows[n - 1], &sums->rows[i]);
        else
            sums->rows[n++] = sums->rows[i];
    }
    sums->n = n;
}

/* Merges first where there is no room: memory grows with destinations, not with connections. */
static void add(void *userdata, const struct riptide_sample *sample)
{
    struct sums *sums = userdata;
    struct sum *rows;

    if (sums->n == sums->capacity) {
        merge(sums);
        sums->capacity = 2 * sums->n + 1024;
        rows = reallocarray(sums->rows, sums->capacity, sizeof(*rows));
        if (!rows)
            command_fail(EXIT_FAILURE, "no memory for %zu connections", sums->capacity);
        sums->rows = rows;
    }
    sums->rows[sums->n++] = (struct sum){
        .dst = sample->dst,
        .connections = 1,
        .cwnd_total = sample->cwnd,
        .cwnd_max = sample->cwnd,
        .min_rtt_us = sample->min_rtt_us,
        .acked_bytes = sample->acked_bytes,
        .retrans_segs = sample->retrans_segs,
    };
}

/* Those that were sent most first. */
static int compare(const void *left, const void *right)
{
    const struct sum *a = left, *b = right;

    if (a->acked_bytes != b->acked_bytes)
        return a->acked_bytes < b->acked_bytes ? 1 : -1;
    return compare_dst(a, b);
}

static json_t *to_json(const struct sums *sums)
{
    json_t *rows = json_array();
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];

    for (size_t i = 0; i < sums->n; i++) {
        const struct sum *sum = &sums->rows[i];

        riptide_prefix_format(&sum->dst, dst);
        json_array_append_new(rows,
                              json_pack("{s:s, s:I, s:f, s:I, s:o, s:I, s:I}", "dst", dst,
                                        "connections", (json_int_t)sum->connections, "cwnd_mean",
                                        (double)sum->cwnd_total / (double)sum->connections,
                                        "cwnd_max", (json_int_t)sum->cwnd_max, "min_rtt_us",
                                        figure_or_null(sum->min_rtt_us), "acked_bytes",
                                        (json_int_t)sum->acked_bytes, "retrans_segs",
                                        (json_int_t)sum->retrans_segs));
    }
    return json_pack("{s:o}", "destinations", rows);
}

static void print_row(const struct sum *sum)
{
    const double min_rtt_ms = (double)sum->min_rtt_us / 1e3;
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];

    riptide_prefix_format(&sum->dst, dst);
    printf("%-39s %5" PRIu64 " %4.0f %5" PRIu64, dst, sum->connections,
           (double)sum->cwnd_total / (double)sum->connections, sum->cwnd_max);
    printf(min_rtt_ms > 0 ? " %6.*f" : "      -", min_rtt_ms < 1000, min_rtt_ms);
    printf(" %5" PRIu64 " %8.1f\n", sum->retrans_segs, (double)sum->acked_bytes / 1e6);
}

static void print_table(const struct sums *sums, uint32_t top)
{
    uint64_t n_connections = 0;

    printf("%-39s CONNS CWND   MAX RTT/ms  RETR ACKED/MB\n", "DESTINATION");
    for (size_t i = 0; i < sums->n; i++) {
        n_connections += sums->rows[i].connections;
        if (top == 0 || i < top)
            print_row(&sums->rows[i]);
    }
    if (top > 0 && top < sums->n)
        printf("... %zu more (--top 0), sorted by ACKED\n", sums->n - top);
    printf("%zu destinations, %" PRIu64 " connections open now\n", sums->n, n_connections);
}

struct riptide_observer *observe_open(const struct command_options *options)
{
    struct riptide_observer *observer = NULL;
    struct riptide_observer_config config;
    struct riptide_error error;
    struct prefix_list learn = { .n = 0 };
    int r;

    for (int i = 0; i < options->n_operands; i++) {
        if (value_prefixes.parse(&learn, options->operands[i]) < 0)
            command_fail(EXIT_USAGE, "%s: %s", options->operands[i], value_prefixes.expected);
    }
    riptide_observer_config_init(&config, sizeof(config));
    config.scope.learn = learn.items;
    config.scope.n_learn = learn.n;
    r = riptide_observer_new(&observer, &config, &error);
    if (r < 0)
        command_fail(EXIT_FAILURE, "%s", log_error_text(&error, r));
    free(learn.items);
    return observer;
}

void observe_dump(struct riptide_observer *observer, void *userdata,
                  void (*take)(void *userdata, const struct riptide_sample *sample))
{
    struct pollfd fd = { .fd = riptide_observer_get_fd(observer), .events = POLLIN };
    const struct riptide_sample *sample;
    int r = riptide_observer_start(observer);

    while (r >= 0 && r != RIPTIDE_E_DONE) {
        poll(&fd, 1, -1);
        r = riptide_observer_dispatch(observer);
        while (r >= 0 && (r = riptide_observer_pop(observer, &sample)) == 0)
            take(userdata, sample);
    }
    if (r < 0)
        command_fail(EXIT_FAILURE, "%s", strerror(-r));
}

int observe_run(const struct command_options *options)
{
    struct riptide_observer *observer = observe_open(options);
    struct sums sums = { .rows = NULL };
    bool goes_on = true;

    while (goes_on) {
        sums.n = 0;
        observe_dump(observer, &sums, add);
        merge(&sums);
        if (sums.n > 0)
            qsort(sums.rows, sums.n, sizeof(*sums.rows), compare);
        if (options->watch && !options->json && isatty(STDOUT_FILENO))
            fputs("\033[H\033[2J", stdout);
        if (options->json)
            command_print_json(to_json(&sums));
        else
            print_table(&sums, options->top);
        goes_on = fflush(stdout) == 0 && options->watch;
        if (goes_on)
            sleep(1);
    }
    free(sums.rows);
    riptide_observer_free(observer);
    return EXIT_SUCCESS;
}
