/*
 * The observer: configuration in, samples out, everything counted. The dumps are dump.c's, the
 * meaning of a message about a socket is sample.c's.
 */
#include "internal.h"
#include "observe/dump.h"
#include "observe/sample.h"
#include "prefix.h"

#include <errno.h>
#include <riptide/observe.h>
#include <stdlib.h>

struct riptide_observer {
    struct riptide_scope scope; /* its arrays are the two below */
    struct riptide_prefix *learn;
    struct riptide_prefix *exclude;
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
    };

    struct_give(config, size, &defaults, sizeof(defaults));
}

static int take_prefixes(struct riptide_prefix **copyp, const struct riptide_prefix *prefixes,
                         size_t n, const char *field, struct riptide_error *error)
{
    void *copy;
    int r;

    if (n > 0 && !prefixes) {
        error_set(error, "scope.%s: NULL, but scope.n_%s is %zu", field, field, n);
        return -EINVAL;
    }
    for (size_t i = 0; i < n; i++) {
        if (!prefix_is_valid(&prefixes[i])) {
            error_set(error,
                      "scope.%s[%zu]: no prefix; family AF_INET or AF_INET6, no bits behind len",
                      field, i);
            return -EINVAL;
        }
    }
    r = array_copy(&copy, prefixes, n, sizeof(*prefixes));
    if (r == 0)
        *copyp = copy;
    return r;
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
    r = take_prefixes(&observer->learn, config.scope.learn, config.scope.n_learn, "learn", error);
    if (r < 0)
        return r;
    r = take_prefixes(&observer->exclude, config.scope.exclude, config.scope.n_exclude, "exclude",
                      error);
    if (r < 0)
        return r;
    observer->scope = config.scope;
    observer->scope.learn = observer->learn;
    observer->scope.exclude = observer->exclude;
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
    free(observer->exclude);
    free(observer->learn);
    free(observer);
    return NULL;
}

RIPTIDE_PUBLIC int riptide_observer_get_fd(const struct riptide_observer *observer)
{
    return observer->dump.epoll_fd;
}

RIPTIDE_PUBLIC int riptide_observer_start(struct riptide_observer *observer)
{
    return dump_start(&observer->dump);
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
    if (!riptide_scope_matches(&observer->scope, &sample->dst)) {
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
    return r;
}

RIPTIDE_PUBLIC void riptide_observer_get_stats(const struct riptide_observer *observer,
                                               struct riptide_observer_stats *stats, size_t size)
{
    struct_give(stats, size, &observer->stats, sizeof(observer->stats));
}
