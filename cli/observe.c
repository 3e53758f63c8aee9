/* SPDX-License-Identifier: MIT */
/* riptide observe: a dump of the open connections, summed up for each peer. */
#include "commands.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <search.h>
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

/* Memory grows with destinations, not with connections. */
struct sums {
    void *tree; /* of tsearch(3), by destination */
    struct sum **rows;
    size_t n;
};

static int compare_dst(const void *left, const void *right)
{
    return memcmp(left, right, sizeof(struct riptide_prefix));
}

/* The sum of the peer, which is new if it is not there; NULL: no memory. */
static struct sum *find_sum(struct sums *sums, const struct riptide_prefix *dst)
{
    struct sum *sum = calloc(1, sizeof(*sum)), **found = NULL, **rows;

    if (sum) {
        sum->dst = *dst;
        found = tsearch(sum, &sums->tree, compare_dst);
    }
    if (!found || *found != sum) {
        free(sum);
        return found ? *found : NULL;
    }
    rows = reallocarray(sums->rows, sums->n + 1, sizeof(struct sum *));
    if (!rows) {
        tdelete(sum, &sums->tree, compare_dst);
        free(sum);
        return NULL;
    }
    sums->rows = rows;
    rows[sums->n++] = sum;
    return sum;
}

static int add(void *userdata, const struct riptide_sample *sample)
{
    struct sum *sum = find_sum(userdata, &sample->dst);

    if (!sum)
        return -ENOMEM;
    sum->connections++;
    sum->cwnd_total += sample->cwnd;
    if (sample->cwnd > sum->cwnd_max)
        sum->cwnd_max = sample->cwnd;
    if (sample->min_rtt_us > 0 && (sum->min_rtt_us == 0 || sample->min_rtt_us < sum->min_rtt_us))
        sum->min_rtt_us = sample->min_rtt_us;
    sum->acked_bytes += sample->acked_bytes;
    sum->retrans_segs += sample->retrans_segs;
    return 0;
}

static void clear(struct sums *sums)
{
    for (size_t i = 0; i < sums->n; i++) {
        tdelete(sums->rows[i], &sums->tree, compare_dst);
        free(sums->rows[i]);
    }
    free(sums->rows);
    *sums = (struct sums){ .rows = NULL };
}

/* Those that were sent most first. */
static int compare(const void *left, const void *right)
{
    const struct sum *a = *(const struct sum *const *)left;
    const struct sum *b = *(const struct sum *const *)right;

    if (a->acked_bytes != b->acked_bytes)
        return a->acked_bytes < b->acked_bytes ? 1 : -1;
    return compare_dst(a, b);
}

static json_t *to_json(const struct sums *sums)
{
    json_t *rows = json_array();
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];

    for (size_t i = 0; i < sums->n; i++) {
        const struct sum *sum = sums->rows[i];

        riptide_prefix_format(&sum->dst, dst);
        json_array_append_new(
            rows, json_pack("{s:s, s:I, s:f, s:I, s:o, s:I, s:I}", "dst", dst,
                            "connections", (json_int_t)sum->connections, "cwnd_mean",
                            (double)sum->cwnd_total / (double)sum->connections, "cwnd_max",
                            (json_int_t)sum->cwnd_max, "min_rtt_us",
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
        n_connections += sums->rows[i]->connections;
        if (top == 0 || i < top)
            print_row(sums->rows[i]);
    }
    if (top > 0 && top < sums->n)
        printf("... %zu more (--top 0), sorted by ACKED\n", sums->n - top);
    printf("%zu destinations, %" PRIu64 " connections open now\n", sums->n, n_connections);
}

int observe_open(struct riptide_observer **observerp, const struct command_options *options)
{
    const size_t n = (size_t)options->n_operands;
    struct riptide_prefix *learn = calloc(n + 1, sizeof(*learn));
    struct riptide_observer_config config;
    struct riptide_error error;
    int status = EXIT_SUCCESS, r;

    riptide_observer_config_init(&config, sizeof(config));
    config.scope.learn = learn;
    config.scope.n_learn = n;
    for (size_t i = 0; learn && i < n && status == EXIT_SUCCESS; i++) {
        if (!command_parse_prefix(options, options->operands[i], &learn[i]))
            status = EXIT_USAGE;
    }
    if (status == EXIT_SUCCESS) {
        r = learn ? riptide_observer_new(observerp, &config, &error) : -ENOMEM;
        if (r < 0)
            status = command_fail(options, &error, r);
    }
    free(learn);
    return status;
}

int observe_dump(struct riptide_observer *observer, const struct command_options *options,
                 observe_take *take, void *userdata)
{
    struct pollfd fd = { .fd = riptide_observer_get_fd(observer), .events = POLLIN };
    const struct riptide_error none = { .text = "" };
    const struct riptide_sample *sample;
    int r = riptide_observer_start(observer);

    while (r >= 0 && r != RIPTIDE_E_DONE) {
        poll(&fd, 1, -1);
        r = riptide_observer_dispatch(observer);
        while (r >= 0 && (r = riptide_observer_pop(observer, &sample)) == 0)
            r = take(userdata, sample);
    }
    return r < 0 ? command_fail(options, &none, r) : EXIT_SUCCESS;
}

int observe_run(const struct command_options *options)
{
    struct riptide_observer *observer = NULL;
    struct sums sums = { .rows = NULL };
    int status = observe_open(&observer, options);
    bool is_last = status != EXIT_SUCCESS;

    while (!is_last) {
        status = observe_dump(observer, options, add, &sums);
        is_last = status != EXIT_SUCCESS || !options->watch;
        if (sums.n > 0)
            qsort(sums.rows, sums.n, sizeof(struct sum *), compare);
        if (options->watch && !options->json && isatty(STDOUT_FILENO))
            fputs("\033[H\033[2J", stdout);
        if (status == EXIT_SUCCESS && options->json)
            status = command_print_json(options, to_json(&sums));
        else if (status == EXIT_SUCCESS)
            print_table(&sums, options->top);
        clear(&sums);
        if (fflush(stdout) != 0)
            break;
        if (!is_last)
            sleep(1);
    }
    riptide_observer_free(observer);
    return status;
}
