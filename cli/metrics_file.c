/* SPDX-License-Identifier: MIT */
/*
 * When metrics are collected and written. Whatever goes wrong with the file, the daemon goes on.
 */
#include "metrics_file.h"

#include "lib/tools.h"
#include "log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Once each: two lines of the same labels would spoil the file. */
static void add_prefix(struct metrics *metrics, const struct riptide_prefix *prefix)
{
    for (size_t i = 0; i < metrics->n_prefixes; i++) {
        if (riptide_prefix_equal(&metrics->prefixes[i].prefix, prefix))
            return;
    }
    metrics->prefixes[metrics->n_prefixes++].prefix = *prefix;
}

static int set_prefixes(struct metrics *metrics, const struct prefix_list *list)
{
    /* One more than needed: none would be no memory. */
    struct metrics_prefix *prefixes = calloc(list->n + 1, sizeof(*prefixes));

    if (!prefixes)
        return -ENOMEM;
    free(metrics->prefixes);
    metrics->prefixes = prefixes;
    metrics->n_prefixes = 0;
    for (size_t i = 0; i < list->n; i++)
        add_prefix(metrics, &list->items[i]);
    return 0;
}

int metrics_file_init(struct metrics_file *file, const struct settings *settings)
{
    *file = (struct metrics_file){ .settings = settings };
    return set_prefixes(&file->metrics, &settings->metrics_prefixes);
}

int metrics_file_reconfigure(struct metrics_file *file, const struct settings *fresh)
{
    const char *path = file->settings->metrics;
    int r = set_prefixes(&file->metrics, &fresh->metrics_prefixes);

    if (r < 0)
        return r;
    if (path && (!fresh->metrics || strcmp(path, fresh->metrics))) {
        metrics_file_remove(file);
        file->written_ns = 0;
        file->is_there = false;
        file->is_failing = false;
    }
    return 0;
}

void metrics_file_deinit(struct metrics_file *file)
{
    free(file->metrics.prefixes);
    *file = (struct metrics_file){ .settings = NULL };
}

static void collect(struct metrics_file *file, const struct riptide_agent *agent)
{
    struct metrics *metrics = &file->metrics;
    static const uint8_t family[] = { AF_INET, AF_INET6 };
    const struct riptide_estimator *estimator = riptide_agent_get_estimator(agent);
    const struct riptide_router *router = riptide_agent_get_router(agent);
    struct riptide_estimate estimate;
    uint32_t cursor = 0;

    riptide_observer_get_stats(riptide_agent_get_observer(agent), &metrics->observer,
                               sizeof(metrics->observer));
    riptide_estimator_get_stats(estimator, &metrics->estimator, sizeof(metrics->estimator));
    riptide_router_get_stats(router, &metrics->router, sizeof(metrics->router));
    for (size_t i = 0; i < 2; i++)
        metrics->are_rules_in_place[i] =
            !file->settings->router.dry_run && riptide_router_get_reason(router, family[i]) == NULL;
    metrics->max_destinations = file->settings->estimator.max_destinations;
    metrics->max_routes = file->settings->router.max_routes;
    metrics_clear_prefixes(metrics);
    while (metrics->n_prefixes > 0 && riptide_estimator_next(estimator, &cursor, &estimate) == 0)
        metrics_add_estimate(metrics, &estimate);
}

int metrics_file_text(struct metrics_file *file, const struct riptide_agent *agent, char **textp,
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

/* No sync: after a crash of the machine there is nothing to tell. Whoever collects it may read. */
static void write_metrics(struct metrics_file *file, const struct riptide_agent *agent)
{
    const char *path = file->settings->metrics;
    struct riptide_error error = { .text = "" };
    char *text;
    size_t size;
    int r = metrics_file_text(file, agent, &text, &size);

    if (r == 0) {
        r = riptide_file_write(path, text, size, 0644, false, &error);
        free(text);
    }
    if (r < 0 && !file->is_failing)
        log_line(LOG_LEVEL_WARNING, "metrics: %s; it is written as soon as it can be",
                 log_error_text(&error, r));
    else if (r == 0 && file->is_failing)
        log_line(LOG_LEVEL_INFO, "metrics: %s: written again", path);
    file->is_failing = r < 0;
    /* On a full disk the last one stays; -EINVAL is somebody else's in its place. */
    file->is_there = r == 0 || (file->is_there && r != -EINVAL);
}

static void on_tick(struct metrics_file *file, const struct riptide_agent *agent,
                    const struct riptide_tick *tick)
{
    file->metrics.overflow += tick->overflow;
    file->metrics.dump_cpu_ns += tick->observe_cpu_ns;
    file->metrics.interval_ns = tick->interval_ns;
    histogram_add(&file->metrics.durations, metrics_duration_bounds_ns,
                  tick->finished_ns - tick->started_ns);
    if (!file->settings->metrics ||
        (file->written_ns != 0 &&
         tick->finished_ns - file->written_ns < file->settings->metrics_interval_ns))
        return;
    file->written_ns = tick->finished_ns;
    write_metrics(file, agent);
}

void metrics_file_event(struct metrics_file *file, const struct riptide_agent *agent,
                        const struct riptide_agent_event *event)
{
    if (event->kind == RIPTIDE_AGENT_TICK)
        on_tick(file, agent, event->tick);
    else if (event->kind == RIPTIDE_AGENT_ROUTE && event->route->state == RIPTIDE_ROUTE_APPLIED)
        histogram_add(&file->metrics.windows, metrics_window_bounds, event->route->initcwnd);
}

void metrics_file_remove(const struct metrics_file *file)
{
    if (file->settings->metrics && file->is_there)
        unlink(file->settings->metrics);
}
