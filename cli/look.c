/* SPDX-License-Identifier: MIT */
/*
 * The three stages once, by hand, for one destination.
 */
#include "look.h"

#include "clock.h"
#include "resolve.h"
#include "samples.h"

#include <string.h>

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

/* Then there is nothing to observe, which an observer refuses to do. */
static bool is_excluded(const struct riptide_scope *scope, const struct riptide_prefix *dst)
{
    for (size_t i = 0; i < scope->n_exclude; i++) {
        if (riptide_prefix_contains(&scope->exclude[i], dst))
            return true;
    }
    return false;
}

static int observe(struct riptide_estimator *estimator, const struct settings *settings,
                   const struct riptide_prefix *dst, struct riptide_error *error)
{
    const struct samples_sink sink = { add_to_estimator, begin_anew, estimator };
    struct riptide_scope scope = settings->observer.scope;

    if (is_excluded(&scope, dst))
        return 0;
    scope.learn = dst;
    scope.n_learn = 1;
    return samples_observe(&scope, &sink, NULL, error);
}

static int compute(struct look *look, const struct riptide_estimator_config *config,
                   const struct settings *settings, const struct riptide_prefix *dst,
                   struct riptide_error *error)
{
    struct riptide_estimator *estimator;
    struct riptide_estimate estimate;
    int r = riptide_estimator_new(&estimator, config, error);

    if (r < 0)
        return r;
    r = observe(estimator, settings, dst, error);
    if (r == 0) {
        look->now_ns = clock_read_ns(CLOCK_BOOTTIME);
        riptide_estimator_tick(estimator, look->now_ns);
        look->has_window = riptide_estimator_explain(estimator, dst, &look->explanation,
                                                     sizeof(look->explanation)) == 0;
        look->may_lower =
            riptide_estimator_find(estimator, dst, &estimate) == 0 && estimate.may_lower;
        look->connections = counting.connections;
        memcpy(look->left_out, counting.left_out, sizeof(look->left_out));
    }
    riptide_estimator_free(estimator);
    return r;
}

static void on_route(void *userdata, const struct riptide_route *route)
{
    struct look *look = userdata;

    look->has_route = true;
    look->route = *route;
}

int look_at(struct look *look, const struct settings *settings, const struct riptide_prefix *dst,
            const char *policy, struct riptide_error *error)
{
    struct riptide_estimator_config config = settings->estimator;
    const struct riptide_policy *found = policy ? riptide_policy_find(policy) : NULL;
    int r;

    memset(look, 0, sizeof(*look));
    count_with(found ? found : config.policy);
    config.policy = &counting.policy;
    /* The prefix that was asked for is the destination, however long it is. */
    config.aggregates = dst;
    config.n_aggregates = 1;
    r = compute(look, &config, settings, dst, error);
    if (r != 0)
        return r;
    return resolve(&settings->router, dst, 1,
                   look->has_window ? look->explanation.cwnd : config.cwnd_max, look->may_lower,
                   on_route, look, error);
}

int look_group(const struct riptide_estimator_config *config, const struct riptide_prefix *dst,
               struct riptide_prefix *group)
{
    struct riptide_estimator *estimator;
    int r = riptide_estimator_new(&estimator, config, NULL);

    if (r < 0)
        return r;
    riptide_estimator_group(estimator, dst, group);
    riptide_estimator_free(estimator);
    return 0;
}
