/*
 * The observer: configuration in, samples out, everything counted. The dumps are dump.c's, the
 * meaning of a message about a socket is sample.c's.
 */
#include "internal.h"
#include "observe/dump.h"
#include "observe/sample.h"
#include "observe/scope.h"

#include <errno.h>
#include <riptide/observe.h>
#include <stdlib.h>

struct riptide_observer {
    struct riptide_scope scope;
    struct filter filter;
    uint32_t slices;     /* for the next dump */
    uint32_t cut_slices; /* of the latest dump */
    uint32_t slice;      /* the next of those */
    struct riptide_observer_stats stats;
    struct riptide_sample sample; /* the one last popped */
    struct dump dump;
};

RIPTIDE_PUBLIC void riptide_observer_config_init(struct riptide_observer_config *config,
                                                 size_t size)
{
    struct riptide_observer_config defaults = {
        .size = size,
        .max_restarts = 3,
        .congestion_control = true,
        .slices = 1,
    };

    struct_give(config, size, &defaults, sizeof(defaults));
}

static int take_config(struct riptide_observer *observer,
                       const struct riptide_observer_config *given, struct riptide_error *error)
{
    struct riptide_observer_config config;
    int r;

    riptide_observer_config_init(&config, sizeof(config));
    r = config_copy(&config, sizeof(config), given, error);
    if (r < 0)
        return r;
    r = riptide_observer_set_slices(observer, config.slices);
    if (r < 0) {
        error_set(error, "slices: must be 1 to %d", RIPTIDE_MAX_SLICES);
        return r;
    }
    r = scope_copy(&observer->scope, &config.scope, error);
    if (r < 0)
        return r;
    r = filter_init(&observer->filter, &observer->scope);
    if (r < 0)
        return r;
    observer->dump.max_restarts = config.max_restarts;
    observer->dump.congestion_control = config.congestion_control;
    return 0;
}

static void observer_freep(struct riptide_observer **observerp)
{
    riptide_observer_free(*observerp);
}

static int observer_new(struct riptide_observer **observerp,
                        const struct riptide_observer_config *config, struct riptide_error *error)
{
    CLEANUP(observer_freep) struct riptide_observer *observer = NULL;
    int r;

    observer = calloc(1, sizeof(*observer));
    if (!observer)
        return -ENOMEM;
    observer->dump.epoll_fd = -1;
    observer->dump.stats = &observer->stats;
    observer->dump.filter = &observer->filter;
    observer->cut_slices = 1;
    r = take_config(observer, config, error);
    if (r < 0)
        return r;
    r = dump_open(&observer->dump, error);
    if (r < 0)
        return r;

    *observerp = observer;
    observer = NULL;
    return 0;
}

RIPTIDE_PUBLIC int riptide_observer_new(struct riptide_observer **observerp,
                                        const struct riptide_observer_config *config,
                                        struct riptide_error *error)
{
    error_set(error, "%s", "");
    return error_fill(error, observer_new(observerp, config, error));
}

RIPTIDE_PUBLIC struct riptide_observer *riptide_observer_free(struct riptide_observer *observer)
{
    if (!observer)
        return NULL;
    dump_close(&observer->dump);
    filter_deinit(&observer->filter);
    scope_deinit(&observer->scope);
    free(observer);
    return NULL;
}

RIPTIDE_PUBLIC int riptide_observer_get_fd(const struct riptide_observer *observer)
{
    return observer->dump.epoll_fd;
}

RIPTIDE_PUBLIC int riptide_observer_set_slices(struct riptide_observer *observer, uint32_t slices)
{
    if (slices < 1 || slices > RIPTIDE_MAX_SLICES)
        return -EINVAL;
    observer->slices = slices;
    return 0;
}

RIPTIDE_PUBLIC enum riptide_filter
riptide_observer_get_filter(const struct riptide_observer *observer)
{
    return filter_get_kind(&observer->filter);
}

/* The filter is first read when the host's own prefixes are known. */
RIPTIDE_PUBLIC int riptide_observer_start(struct riptide_observer *observer)
{
    bool is_cut_anew = observer->slices != observer->cut_slices;
    int r = dump_start(&observer->dump);

    if (r < 0)
        return r;
    if (is_cut_anew)
        observer->slice = 0;
    observer->cut_slices = observer->slices;
    if (is_cut_anew || observer->slices > 1)
        filter_take_slice(&observer->filter, observer->slice, observer->slices);
    return 0;
}

RIPTIDE_PUBLIC int riptide_observer_dispatch(struct riptide_observer *observer)
{
    return dump_dispatch(&observer->dump);
}

/* Whether the message is a sample to hand out; it is in observer->sample then. */
static bool take_sample(struct riptide_observer *observer, const struct nlmsghdr *message)
{
    struct riptide_observer_stats *stats = &observer->stats;
    struct riptide_sample *sample = &observer->sample;
    struct walk payload = message_payload(message);

    stats->sockets++;
    switch (sample_parse(sample, payload.at, payload.left)) {
    case SAMPLE_OK:
        break;
    case SAMPLE_LOOPBACK:
        stats->left_out_local++;
        return false;
    case SAMPLE_MULTICAST:
        stats->left_out_multicast++;
        return false;
    case SAMPLE_LINK_LOCAL:
        stats->left_out_link_local++;
        return false;
    case SAMPLE_NO_INFO:
        stats->left_out_no_info++;
        return false;
    case SAMPLE_MALFORMED:
        stats->malformed++;
        return false;
    }
    if (local_set_contains(&observer->dump.local, &sample->dst)) {
        stats->left_out_local++;
        return false;
    }
    if (filter_get_kind(&observer->filter) == RIPTIDE_FILTER_PARTIAL &&
        !filter_matches(&observer->filter, sample)) {
        stats->left_out_scope++;
        return false;
    }
    stats->samples++;
    return true;
}

RIPTIDE_PUBLIC int riptide_observer_pop(struct riptide_observer *observer,
                                        const struct riptide_sample **samplep)
{
    const struct nlmsghdr *message;
    int r;

    while ((r = dump_pop(&observer->dump, &message)) == 0) {
        if (take_sample(observer, message)) {
            *samplep = &observer->sample;
            return 0;
        }
    }
    /* After a dump that was given up the same slice comes again, so that none is left out. */
    if (r == RIPTIDE_E_DONE)
        observer->slice = (observer->slice + 1) % observer->cut_slices;
    return r;
}

RIPTIDE_PUBLIC void riptide_observer_get_stats(const struct riptide_observer *observer,
                                               struct riptide_observer_stats *stats, size_t size)
{
    struct_give(stats, size, &observer->stats, sizeof(observer->stats));
}
