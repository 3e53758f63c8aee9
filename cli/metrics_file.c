/* SPDX-License-Identifier: MIT */
/* When metrics are collected and written. A failure to write does not stop the daemon. */
#include "metrics.h"

#include "clock.h"
#include "effect.h"
#include "lib/tools.h"
#include "log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* For a collector that reads every 15 s; shorter with short rounds. */
static uint64_t find_interval_ns(const struct settings *settings)
{
    const uint64_t round_ns = settings->agent.interval_ns;

    return 15 * (round_ns < NS_PER_S ? round_ns : NS_PER_S);
}

static void collect(struct metrics_file *file, struct riptide_agent *agent)
{
    struct metrics *metrics = &file->metrics;
    const struct riptide_agent_stats *counted = riptide_agent_get_stats(agent);
    const struct riptide_applier_stats stats = *counted->applier;
    const struct experiment *experiment = riptide_agent_get_experiment(agent);

    metrics->observer = *counted->observer;
    metrics->estimator = *counted->estimator;
    metrics->applier = stats;
    for (size_t i = 0; i < 2; i++)
        metrics->are_rules_in_place[i] =
            !file->settings->applier.dry_run && stats.rules_reason[i] == NULL;
    metrics->asked = riptide_name(RIPTIDE_NAMES_BACKEND, file->settings->applier.backend);
    metrics->by = riptide_name(RIPTIDE_NAMES_BACKEND, stats.backend);
    metrics->is_program_in_place = !file->settings->applier.dry_run &&
                                   stats.backend != RIPTIDE_ROUTES && !stats.program_reason;
    metrics->is_suspended = counted->suspended_until_ns > 0;
    metrics->suspensions = experiment->suspension.n;
    for (size_t i = 0; i < RIPTIDE_WINDOW_BUCKETS; i++)
        metrics->given.counts[i] = stats.program.by_cwnd[i];
    metrics->given.sum = stats.program.segments;
    memcpy(metrics->flights, experiment->flights, sizeof(metrics->flights));
    metrics->cpu_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
    metrics->experiment = experiment->holdout_percent > 0 ? experiment : NULL;
    metrics->holdout_permille = (uint64_t)(10 * effect_share_percent(experiment) + 0.5);
    memcpy(metrics->left_out, experiment->entries, sizeof(metrics->left_out));
    metrics->is_full = metrics->estimator.is_full;
    metrics->max_destinations = file->settings->estimator.max_destinations;
    metrics->max_windows = file->settings->applier.max_windows;
}

int metrics_file_text(struct metrics_file *file, struct riptide_agent *agent, char **textp,
                      size_t *sizep)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, sizep);

    if (!out)
        return -ENOMEM;
    collect(file, agent);
    metrics_print(out, &file->metrics);
    if (fclose(out)) {
        free(text);
        return -ENOMEM;
    }
    *textp = text;
    return 0;
}

static int print(FILE *out, const void *metrics)
{
    metrics_print(out, metrics);
    return 0;
}

/* Not synced: after a crash of the machine the content is useless. Readable by all. */
static void write_metrics(struct metrics_file *file, struct riptide_agent *agent)
{
    const char *path = file->settings->metrics;
    struct riptide_error error = { .text = "" };
    int r;

    collect(file, agent);
    r = riptide_file_write(path, 0644, false, print, &file->metrics, &error);
    if (r < 0 && !file->is_failing)
        log_line(LOG_LEVEL_WARNING, "metrics: %s; it is written as soon as it can be",
                 log_error_text(&error, r));
    else if (r == 0 && file->is_failing)
        log_line(LOG_LEVEL_INFO, "metrics: %s: written again", path);
    file->is_failing = r < 0;
    /* On a full disk the last one stays; -EINVAL: another program's file is in its place. */
    file->is_there = r == 0 || (file->is_there && r != -EINVAL);
}

static void on_tick(struct metrics_file *file, struct riptide_agent *agent,
                    const struct riptide_tick *tick)
{
    file->metrics.ticks++;
    file->metrics.overflow += tick->overflow;
    file->metrics.dump_cpu_ns += tick->observe_cpu_ns;
    file->metrics.interval_ns = tick->interval_ns;
    histogram_add(&file->metrics.durations, metrics_duration_bounds_ns,
                  tick->finished_ns - tick->started_ns);
    if (!file->settings->metrics || file->settings->applier.dry_run ||
        (file->written_ns != 0 &&
         tick->finished_ns - file->written_ns < find_interval_ns(file->settings)))
        return;
    file->written_ns = tick->finished_ns;
    write_metrics(file, agent);
}

void metrics_file_event(struct metrics_file *file, struct riptide_agent *agent,
                        const struct riptide_agent_event *event)
{
    if (event->kind == RIPTIDE_AGENT_TICK)
        on_tick(file, agent, event->tick);
    else if (event->kind == RIPTIDE_AGENT_WINDOW &&
             event->outcome->backend == RIPTIDE_ROUTES &&
             event->outcome->state == RIPTIDE_ROUTE_APPLIED)
        histogram_add(&file->metrics.windows, riptide_window_bounds, event->outcome->initcwnd);
}

void metrics_file_remove(const struct metrics_file *file)
{
    if (file->settings->metrics && file->is_there)
        unlink(file->settings->metrics);
}
