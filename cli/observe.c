/* SPDX-License-Identifier: MIT */
/* riptide observe: a dump of the open connections, summed up for each peer. */
#include "commands.h"
#include "samples.h"
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The sum of a peer's connections. Windows in segments; 0: no connection had that figure. */
struct sum {
    struct riptide_prefix dst;
    uint64_t connections;
    uint64_t cwnd_total, cwnd_max;
    uint64_t rtt_total_us, rtt_connections; /* those with a measurement */
    uint64_t min_rtt_us;
    uint64_t acked_bytes;
    uint64_t retrans_segs;
    uint64_t rate_Bps; /* the largest */
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

static void keep_most(uint64_t *most, uint64_t value)
{
    if (value > *most)
        *most = value;
}

static int add(void *userdata, const struct riptide_sample *sample)
{
    struct sum *sum = find_sum(userdata, &sample->dst);

    if (!sum)
        return -ENOMEM;
    sum->connections++;
    sum->cwnd_total += sample->cwnd;
    keep_most(&sum->cwnd_max, sample->cwnd);
    sum->rtt_total_us += sample->rtt_us;
    sum->rtt_connections += sample->rtt_us > 0;
    if (sample->min_rtt_us > 0 && (sum->min_rtt_us == 0 || sample->min_rtt_us < sum->min_rtt_us))
        sum->min_rtt_us = sample->min_rtt_us;
    sum->acked_bytes += sample->acked_bytes;
    sum->retrans_segs += sample->retrans_segs;
    keep_most(&sum->rate_Bps, sample->delivery_rate_Bps);
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
        uint64_t n = sum->rtt_connections;

        riptide_prefix_format(&sum->dst, dst);
        json_array_append_new(
            rows, json_pack("{s:s, s:I, s:f, s:I, s:o, s:o, s:I, s:I, s:o}", "dst", dst,
                            "connections", (json_int_t)sum->connections, "cwnd_mean",
                            (double)sum->cwnd_total / (double)sum->connections, "cwnd_max",
                            (json_int_t)sum->cwnd_max, "rtt_mean_us",
                            figure_or_null(n ? sum->rtt_total_us / n : 0), "min_rtt_us",
                            figure_or_null(sum->min_rtt_us), "acked_bytes",
                            (json_int_t)sum->acked_bytes, "retrans_segs",
                            (json_int_t)sum->retrans_segs, "max_delivery_rate_Bps",
                            figure_or_null(sum->rate_Bps)));
    }
    return json_pack("{s:o}", "destinations", rows);
}

static void print_row(const struct sum *sum)
{
    const double rtt_us =
        sum->rtt_connections ? (double)sum->rtt_total_us / (double)sum->rtt_connections : 0;
    char amount[TEXT_AMOUNT_BYTES], dst[RIPTIDE_PREFIX_TEXT_BYTES];

    riptide_prefix_format(&sum->dst, dst);
    printf("%-39s %5" PRIu64 " %4.0f %5" PRIu64, dst, sum->connections,
           (double)sum->cwnd_total / (double)sum->connections, sum->cwnd_max);
    if (rtt_us > 0)
        printf(" %5.*f", rtt_us < 999950, rtt_us / 1e3);
    else
        printf("     -");
    printf(" %5s", text_bytes(amount, (double)sum->retrans_segs));
    printf(" %5s", text_bytes(amount, (double)sum->acked_bytes));
    printf(" %5s\n", sum->rate_Bps ? text_bytes(amount, (double)sum->rate_Bps) : "-");
}

static void print_table(const struct sums *sums, uint32_t top)
{
    const size_t n = top > 0 && top < sums->n ? top : sums->n;
    uint64_t n_connections = 0;

    for (size_t i = 0; i < sums->n; i++)
        n_connections += sums->rows[i]->connections;
    printf("%-39s CONNS CWND   MAX   RTT  RETR ACKED  RATE\n", "DESTINATION");
    for (size_t i = 0; i < n; i++)
        print_row(sums->rows[i]);
    if (n < sums->n)
        printf("... %zu more (--top 0), sorted by ACKED\n", sums->n - n);
    printf("%zu destinations, %" PRIu64 " connections open now\n", sums->n, n_connections);
}

/* Of connections to the operands. Returns the exit status. */
static int open_observer(struct riptide_observer **observerp,
                         const struct command_options *options)
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

int observe_run(const struct command_options *options)
{
    struct riptide_observer *observer = NULL;
    struct riptide_error error = { .text = "" };
    struct sums sums = { .rows = NULL };
    int status = open_observer(&observer, options), r = 0;

    while (status == EXIT_SUCCESS) {
        r = samples_dump(observer, add, &sums);
        if (r < 0) {
            status = command_fail(options, &error, r);
            break;
        }
        if (sums.n > 0)
            qsort(sums.rows, sums.n, sizeof(struct sum *), compare);
        if (options->watch && !options->json && isatty(STDOUT_FILENO))
            fputs("\033[H\033[2J", stdout);
        if (options->json)
            status = command_print_json(options, to_json(&sums));
        else
            print_table(&sums, options->top);
        clear(&sums);
        if (!options->watch || fflush(stdout) != 0)
            break;
        sleep(1);
    }
    clear(&sums);
    riptide_observer_free(observer);
    return status;
}
