/* SPDX-License-Identifier: MIT */
/* The loop of commands that dump the connections once. */
#include "samples.h"

#include <errno.h>
#include <poll.h>
#include <sys/random.h>

/* Adds the samples of one dispatch. RIPTIDE_E_DONE at the end of the dump. */
static int take(struct riptide_observer *observer, struct prefix_table *table)
{
    const struct riptide_sample *sample;
    int r;

    for (;;) {
        r = riptide_observer_pop(observer, &sample);
        if (r == 0)
            r = aggregate_add(table, sample);
        else
            return r == RIPTIDE_E_AGAIN ? 0 : r;
        if (r < 0)
            return r;
    }
}

static int dump(struct riptide_observer *observer, struct prefix_table *table)
{
    struct pollfd fd = { .fd = riptide_observer_get_fd(observer), .events = POLLIN };
    int r = riptide_observer_start(observer);

    while (r == 0) {
        if (poll(&fd, 1, -1) < 0 && errno != EINTR)
            return -errno;
        r = riptide_observer_dispatch(observer);
        if (r >= 0)
            r = take(observer, table);
    }
    return r == RIPTIDE_E_DONE ? 0 : r;
}

int samples_observe(const struct riptide_scope *scope, struct prefix_table *table,
                    struct riptide_observer_stats *stats, struct riptide_error *error)
{
    struct riptide_observer_config config;
    struct riptide_observer *observer;
    uint64_t seed;
    int r;

    /* Peers choose addresses. */
    aggregate_init(table, getrandom(&seed, sizeof(seed), 0) == (ssize_t)sizeof(seed) ? seed : 0);
    riptide_observer_config_init(&config, sizeof(config));
    if (scope)
        config.scope = *scope;
    r = riptide_observer_new(&observer, &config, error);
    if (r < 0)
        return r;
    r = dump(observer, table);
    if (stats)
        riptide_observer_get_stats(observer, stats, sizeof(*stats));
    riptide_observer_free(observer);
    return r;
}
