/* SPDX-License-Identifier: MIT */
/*
 * The three stages once, by hand, for one destination.
 */
#include "look.h"

#include "clock.h"
#include "lib/tools.h"
#include "resolve.h"
#include "samples.h"

#include <string.h>

static int add_to_estimator(void *userdata, const struct riptide_sample *sample)
{
    int r = riptide_estimator_add(userdata, sample);

    return r < 0 ? r : 0;
}

static void begin_anew(void *userdata)
{
    riptide_estimator_discard(userdata);
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
        /* Where there was nothing to explain, it stays zero. */
        riptide_estimator_explain(estimator, dst, &look->explanation, sizeof(look->explanation));
        look->may_lower =
            riptide_estimator_find(estimator, dst, &estimate) == 0 && estimate.may_lower;
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
    uint32_t cwnd;
    int r;

    memset(look, 0, sizeof(*look));
    if (found)
        config.policy = found;
    /* The prefix that was asked for is the destination, however long it is. */
    config.aggregates = dst;
    config.n_aggregates = 1;
    r = compute(look, &config, settings, dst, error);
    if (r != 0)
        return r;
    cwnd = look->explanation.cwnd ? look->explanation.cwnd : config.cwnd_max;
    return resolve(&settings->router, dst, 1, cwnd, look->may_lower, on_route, look, error);
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
