/* SPDX-License-Identifier: MIT */
/*
 * The loop of commands that look at the connections once.
 */
#include "samples.h"

#include <errno.h>
#include <poll.h>

/* Takes what one dispatch has read. RIPTIDE_E_DONE at the end of the dump. */
static int take(struct riptide_observer *observer, const struct samples_sink *sink)
{
    const struct riptide_sample *sample;
    int r;

    for (;;) {
        r = riptide_observer_pop(observer, &sample);
        if (r == 0)
            r = sink->add(sink->userdata, sample);
        else if (r == RIPTIDE_E_RESTARTED)
            sink->clear(sink->userdata);
        else
            return r == RIPTIDE_E_AGAIN ? 0 : r;
        if (r < 0)
            return r;
    }
}

static int dump(struct riptide_observer *observer, const struct samples_sink *sink)
{
    struct pollfd fd = { .fd = riptide_observer_get_fd(observer), .events = POLLIN };
    int r = riptide_observer_start(observer);

    while (r == 0) {
        if (poll(&fd, 1, -1) < 0 && errno != EINTR)
            return -errno;
        r = riptide_observer_dispatch(observer);
        if (r >= 0)
            r = take(observer, sink);
    }
    return r == RIPTIDE_E_DONE ? 0 : r;
}

int samples_observe(const struct riptide_scope *scope, const struct samples_sink *sink,
                    struct riptide_observer_stats *stats, struct riptide_error *error)
{
    struct riptide_observer_config config;
    struct riptide_observer *observer;
    int r;

    riptide_observer_config_init(&config, sizeof(config));
    if (scope)
        config.scope = *scope;
    config.congestion_control =
        false; /* not looked at, and the kernel writes it for every socket */
    r = riptide_observer_new(&observer, &config, error);
    if (r < 0)
        return r;
    r = dump(observer, sink);
    if (stats)
        riptide_observer_get_stats(observer, stats, sizeof(*stats));
    riptide_observer_free(observer);
    return r;
}
