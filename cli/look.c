/*
 * The three stages once, by hand, for one destination.
 */
#include "look.h"

#include "samples.h"

#include <poll.h>
#include <string.h>
#include <time.h>

/*
 * The policy that is looked with: the same row, but that it counts what it leaves out. An estimator
 * tells this of destinations that have a window, and here is to be said why one has none.
 */
static struct counting {
    struct riptide_policy policy;
    const struct riptide_policy *original;
    uint32_t connections;
    uint32_t left_out[RIPTIDE_LEFT_OUT_REASONS];
} counting;

static enum riptide_left_out add_and_count(const struct riptide_policy_input *input, void *memory,
                                           const struct riptide_sample *sample)
{
    enum riptide_left_out reason = counting.original->add(input, memory, sample);

    counting.connections++;
    if (reason != RIPTIDE_LEFT_OUT_NOT)
        counting.left_out[reason - 1]++;
    return reason;
}

static void forget_counts(void)
{
    counting.connections = 0;
    memset(counting.left_out, 0, sizeof(counting.left_out));
}

static void count_with(const struct riptide_policy *original)
{
    counting.original = original;
    counting.policy = *original;
    counting.policy.add = add_and_count;
    forget_counts();
}

static int add_to_estimator(void *userdata, const struct riptide_sample *sample)
{
    int r = riptide_estimator_add(userdata, sample);

    return r < 0 ? r : 0;
}

static void begin_anew(void *userdata)
{
    riptide_estimator_discard(userdata);
    forget_counts();
}

static int observe(struct riptide_estimator *estimator, const struct riptide_prefix *dst,
                   struct riptide_error *error)
{
    const struct samples_sink sink = { add_to_estimator, begin_anew, estimator };
    struct riptide_observer_config config;
    struct riptide_observer *observer;
    int r;

    riptide_observer_config_init(&config, sizeof(config));
    config.scope = (struct riptide_scope){ .learn = dst, .n_learn = 1 };
    config.congestion_control = false;
    r = riptide_observer_new(&observer, &config, error);
    if (r < 0)
        return r;
    r = samples_read(observer, &sink);
    riptide_observer_free(observer);
    return r;
}

static uint64_t boot_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_BOOTTIME, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

static int compute(struct look *look, const struct riptide_prefix *dst, struct riptide_error *error)
{
    struct riptide_estimator *estimator;
    int r = riptide_estimator_new(&estimator, &look->config, error);

    if (r < 0)
        return r;
    r = observe(estimator, dst, error);
    if (r == 0) {
        look->now_ns = boot_ns();
        riptide_estimator_tick(estimator, look->now_ns);
        look->has_window = riptide_estimator_explain(estimator, dst, &look->explanation,
                                                     sizeof(look->explanation)) == 0;
        look->connections = counting.connections;
        memcpy(look->left_out, counting.left_out, sizeof(look->left_out));
    }
    riptide_estimator_free(estimator);
    return r;
}

static int resolve(struct look *look, const struct riptide_prefix *dst,
                   const struct riptide_router_config *router_config, struct riptide_error *error)
{
    struct riptide_router_config config = *router_config;
    const struct riptide_route *route;
    struct riptide_router *router;
    int r;

    config.dry_run = true;
    r = riptide_router_new(&router, &config, error);
    if (r < 0)
        return r;
    r = riptide_router_start(router, error);
    if (r == 0)
        r = riptide_router_set(
            router, dst, look->has_window ? look->explanation.cwnd : look->config.cwnd_min, 0, 0);
    while (r == 0 && !riptide_router_is_idle(router)) {
        struct pollfd fd = { .fd = riptide_router_get_fd(router), .events = POLLIN };

        poll(&fd, 1, -1);
        r = riptide_router_dispatch(router);
    }
    look->has_route = r == 0 && riptide_router_pop(router, &route) == 0;
    if (look->has_route)
        look->route = *route;
    riptide_router_free(router);
    return r;
}

int look_at(struct look *look, const struct riptide_prefix *dst, const char *policy,
            const struct riptide_router_config *router, struct riptide_error *error)
{
    const struct riptide_policy *found = policy ? riptide_policy_find(policy) : NULL;
    int r;

    memset(look, 0, sizeof(*look));
    riptide_estimator_config_init(&look->config, sizeof(look->config));
    count_with(found ? found : look->config.policy);
    look->config.policy = &counting.policy;
    /* The prefix that was asked for is the destination, however long it is. */
    look->config.aggregates = dst;
    look->config.n_aggregates = 1;
    r = compute(look, dst, error);
    look->config.aggregates = NULL; /* the caller's, and used no more */
    look->config.n_aggregates = 0;
    return r == 0 ? resolve(look, dst, router, error) : r;
}
