/* SPDX-License-Identifier: MIT */
/*
 * riptide model: what initial windows would make of transfers, from file sizes and round trip times
 * in files, or from what the open connections of this host, which are all that riptided sees, have.
 */
#include "commands.h"
#include "log.h"
#include "model/transfer.h"
#include "samples.h"
#include "terminal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const struct option_row model_rows[] = {
    COMMAND_ROW("json", flag, json, "print JSON"),
    COMMAND_ROW("sizes", path, sizes, "lines BYTES or BYTES,WEIGHT; else what connections sent"),
    COMMAND_ROW("rtts", path, rtts, "lines MS or MS,WEIGHT; else those of connections"),
    COMMAND_ROW("mss", u32, mss_bytes, "bytes in a segment"),
    COMMAND_ROW("setup-rounds", u32, setup_rounds,
                "round trips before an object's first byte can leave (TCP: 1, with TLS 1.3: 2)"),
    COMMAND_END,
};

#define MAX_WINDOWS 16

struct inputs {
    struct distribution sizes_bytes;
    struct distribution rtts_ms;
    uint32_t windows[MAX_WINDOWS];
    size_t n_windows;
};

/* What is wrong with the words, in a line, or NULL. */
static const char *parse_windows(struct inputs *inputs, const struct command_options *options)
{
    static const uint32_t usual[] = { 10, 25, 50, 100 };

    memcpy(inputs->windows, usual, sizeof(usual));
    inputs->n_windows = sizeof(usual) / sizeof(usual[0]);
    if (options->n_operands > MAX_WINDOWS)
        return "at most 16 windows";
    for (int i = 0; i < options->n_operands; i++) {
        if (value_u32.parse(&inputs->windows[i], options->operands[i]) < 0 ||
            inputs->windows[i] == 0)
            return "a window is a number of segments from 1";
        inputs->n_windows = (size_t)i + 1;
    }
    if (options->mss_bytes == 0)
        return "--mss 0: a segment has at least one byte";
    if (options->setup_rounds > 100)
        return "--setup-rounds: at most 100";
    return NULL;
}

/* A first line that does not begin as a number is a header. */
static bool is_header(const char *line)
{
    return !strchr("+-.0123456789", line[strspn(line, " \t")]);
}

static int read_lines(struct distribution *into, FILE *file, const char *path,
                      struct riptide_error *error)
{
    char *line = NULL;
    size_t size = 0;
    int r = 0;

    for (unsigned int number = 1; r == 0 && getline(&line, &size, file) >= 0; number++) {
        if (number == 1 && is_header(line))
            continue;
        r = distribution_add_line(into, line);
        if (r == -EINVAL)
            snprintf(error->text, sizeof(error->text),
                     "%s line %u: give VALUE or VALUE,WEIGHT, both above 0", path, number);
    }
    if (r == 0 && ferror(file))
        r = -EIO;
    free(line);
    return r;
}

static int read_file(struct distribution *into, const char *path, struct riptide_error *error)
{
    FILE *file = fopen(path, "re");
    int r;

    if (!file) {
        r = -errno;
        snprintf(error->text, sizeof(error->text), "%s: %s", path, strerror(-r));
        return r;
    }
    r = read_lines(into, file, path, error);
    fclose(file);
    if (r == 0 && into->n == 0) {
        snprintf(error->text, sizeof(error->text), "%s: no values in it", path);
        r = -EINVAL;
    }
    return r;
}

static int add_connection(void *userdata, const struct riptide_sample *sample)
{
    struct inputs *inputs = userdata;
    uint32_t rtt_us = sample->min_rtt_us ? sample->min_rtt_us : sample->rtt_us;
    int r = 0;

    if (sample->data_segs_out == 0 || sample->acked_bytes == 0 || rtt_us == 0)
        return 0;
    r = distribution_add(&inputs->sizes_bytes, (double)sample->acked_bytes, 1);
    return r == 0 ? distribution_add(&inputs->rtts_ms, rtt_us / 1e3, 1) : r;
}

static void clear(void *userdata)
{
    struct inputs *inputs = userdata;

    distribution_deinit(&inputs->sizes_bytes);
    distribution_deinit(&inputs->rtts_ms);
}

static void take_over(struct distribution *to, struct distribution *from)
{
    *to = *from;
    *from = (struct distribution){ .n = 0 };
}

/* What no file was given for. */
static int look_at_connections(struct inputs *inputs, const struct command_options *options,
                               struct riptide_error *error)
{
    struct inputs seen = { .n_windows = 0 };
    struct samples_sink sink = { .add = add_connection, .clear = clear, .userdata = &seen };
    int r = samples_observe(NULL, &sink, NULL, error);

    if (r == 0 && seen.rtts_ms.n == 0) {
        snprintf(error->text, sizeof(error->text), "no open connection has sent data: give %s%s%s",
                 options->sizes ? "" : "--sizes", options->sizes || options->rtts ? "" : " and ",
                 options->rtts ? "" : "--rtts");
        r = -ENOENT;
    }
    if (r == 0 && !options->sizes)
        take_over(&inputs->sizes_bytes, &seen.sizes_bytes);
    if (r == 0 && !options->rtts)
        take_over(&inputs->rtts_ms, &seen.rtts_ms);
    clear(&seen);
    return r;
}

static int read_inputs(struct inputs *inputs, const struct command_options *options,
                       struct riptide_error *error)
{
    int r = 0;

    if (options->sizes)
        r = read_file(&inputs->sizes_bytes, options->sizes, error);
    if (r == 0 && options->rtts)
        r = read_file(&inputs->rtts_ms, options->rtts, error);
    if (r == 0 && (!options->sizes || !options->rtts))
        r = look_at_connections(inputs, options, error);
    return r;
}

typedef int forecast_fn(void *to, uint32_t window, const struct transfer_forecast *forecast);

/* What each window would make of the inputs. */
static int forecast(const struct inputs *inputs, const struct command_options *options,
                    forecast_fn *add, void *to)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < inputs->n_windows; i++) {
        const struct transfer_model model = {
            .window = inputs->windows[i],
            .mss_bytes = options->mss_bytes,
            .setup_rounds = options->setup_rounds,
        };
        struct transfer_forecast result;

        r = transfer_forecast(&model, &inputs->sizes_bytes, &inputs->rtts_ms, &result);
        if (r < 0)
            break;
        r = add(to, model.window, &result);
        transfer_forecast_deinit(&result);
    }
    return r;
}

/* Cells of a row: the window, shares within one to three round trips, their mean, times. */
static int add_row(void *table, uint32_t window, const struct transfer_forecast *forecast)
{
    static const double quantiles[] = { 0.5, 0.75, 0.9, 0.99 };
    enum { N_CELLS = 10, CELL_BYTES = 32 };
    char text[N_CELLS][CELL_BYTES];
    const char *cells[N_CELLS];

    snprintf(text[0], CELL_BYTES, "%" PRIu32, window);
    for (uint32_t rounds = 1; rounds <= 3; rounds++)
        snprintf(text[rounds], CELL_BYTES, "%.1f%%", 100 * transfer_share_within(forecast, rounds));
    snprintf(text[4], CELL_BYTES, "%.2f", forecast->rounds_mean);
    for (size_t i = 0; i < 4; i++)
        snprintf(text[5 + i], CELL_BYTES, "%.1f",
                 distribution_quantile(&forecast->times_ms, quantiles[i]));
    snprintf(text[9], CELL_BYTES, "%.1f", distribution_mean(&forecast->times_ms));
    for (size_t i = 0; i < N_CELLS; i++)
        cells[i] = text[i];
    return table_add(table, TABLE_PLAIN, cells);
}

static int print_table(const struct inputs *inputs, const struct command_options *options)
{
    static const struct table_column columns[] = {
        { "INITCWND", true }, { "IN_1", true },    { "IN_2", true },   { "IN_3", true },
        { "ROUNDS", true },   { "MS_P50", true },  { "MS_P75", true }, { "MS_P90", true },
        { "MS_P99", true },   { "MS_MEAN", true },
    };
    const struct table_style style = terminal_style();
    struct table table;
    int r;

    table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    r = forecast(inputs, options, add_row, &table);
    if (r == 0)
        table_print(&table, stdout, &style);
    table_deinit(&table);
    return r;
}

/* Quantiles for each percent, and shares within each number of round trips up to all. */
static int add_object(void *windows, uint32_t window, const struct transfer_forecast *forecast)
{
    json_t *within = json_array(), *times = json_array();

    for (uint32_t rounds = 1; rounds <= TRANSFER_MAX_ROUNDS; rounds++) {
        json_array_append_new(within, json_real(transfer_share_within(forecast, rounds)));
        if (transfer_share_within(forecast, rounds) >= 1)
            break;
    }
    for (int percent = 1; percent <= 99; percent++)
        json_array_append_new(times,
                              json_real(distribution_quantile(&forecast->times_ms, percent / 1e2)));
    return json_array_append_new(windows, json_pack("{s:I, s:o, s:f, s:o, s:f}", "initcwnd",
                                                    (json_int_t)window, "share_within_rounds",
                                                    within, "rounds_mean", forecast->rounds_mean,
                                                    "time_ms_percentiles", times, "time_ms_mean",
                                                    distribution_mean(&forecast->times_ms)))
               ? -ENOMEM
               : 0;
}

static int print_json(const struct inputs *inputs, const struct command_options *options)
{
    json_t *windows = json_array();
    int r = forecast(inputs, options, add_object, windows);

    if (r < 0) {
        json_decref(windows);
        return r;
    }
    return command_print_json(
        json_pack("{s:I, s:I, s:I, s:I, s:o}", "sizes", (json_int_t)inputs->sizes_bytes.n, "rtts",
                  (json_int_t)inputs->rtts_ms.n, "mss_bytes", (json_int_t)options->mss_bytes,
                  "setup_rounds", (json_int_t)options->setup_rounds, "windows", windows));
}

int model_run(const struct command_options *options)
{
    struct inputs inputs = { .n_windows = 0 };
    const char *wrong = parse_windows(&inputs, options);
    struct riptide_error error = { .text = "" };
    int r;

    if (wrong)
        return command_refuse(options, "%s", wrong);
    r = read_inputs(&inputs, options, &error);
    if (r == 0)
        r = options->json ? print_json(&inputs, options) : print_table(&inputs, options);
    distribution_deinit(&inputs.sizes_bytes);
    distribution_deinit(&inputs.rtts_ms);
    if (r < 0)
        log_answer("model: %s", log_error_text(&error, r));
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
