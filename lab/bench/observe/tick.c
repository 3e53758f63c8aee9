/* SPDX-License-Identifier: MIT */
/*
 * Observe and compute, once: what one round of an agent takes before anything is applied.
 *
 *     tick [PREFIX...]    of the sockets in this scope; default: of all
 *
 * Prints how many samples gave how many windows, of policy paper; none is a failure.
 */
#include "compute/estimator.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <riptide/compute.h>
#include <riptide/observe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DESTINATIONS = 1 << 20 };

static void die(const char *what, const char *reason)
{
    fprintf(stderr, "tick: %s: %s\n", what, reason);
    exit(1);
}

static struct riptide_observer *make_observer(size_t n, char **texts)
{
    struct riptide_prefix *learn = calloc(n + 1, sizeof(*learn));
    struct riptide_observer_config config;
    struct riptide_observer *observer;
    struct riptide_error error;

    if (!learn)
        die("scope", strerror(ENOMEM));
    for (size_t i = 0; i < n; i++) {
        if (riptide_prefix_parse(&learn[i], texts[i]) != 0)
            die(texts[i], "no prefix");
    }
    riptide_observer_config_init(&config, sizeof(config));
    config.scope.learn = learn;
    config.scope.n_learn = n;
    if (riptide_observer_new(&observer, &config, &error) != 0)
        die("observer", error.text);
    free(learn);
    return observer;
}

static struct riptide_estimator *make_estimator(void)
{
    struct riptide_estimator_config config;
    struct riptide_estimator *estimator;
    struct riptide_error error;

    riptide_estimator_config_init(&config, sizeof(config));
    config.policy = riptide_policy_find("paper"); /* the farm's sockets have sent nothing */
    config.max_destinations = MAX_DESTINATIONS;
    if (riptide_estimator_new(&estimator, &config, &error) != 0)
        die("estimator", error.text);
    return estimator;
}

/*
 * Adds one buffer, as an agent does. RIPTIDE_E_AGAIN: it was empty; RIPTIDE_E_DONE:
 * the dump has ended.
 */
static int take_samples(struct riptide_observer *observer, struct riptide_estimator *estimator)
{
    struct riptide_sample samples[RIPTIDE_POPPED_SAMPLES];
    const struct riptide_sample *sample;
    int outcomes[RIPTIDE_POPPED_SAMPLES];
    bool has_any = false;
    size_t n = 0;
    int r;

    do {
        r = riptide_observer_pop(observer, &sample);
        if (r == 0) {
            samples[n] = *sample;
            if (++n < RIPTIDE_POPPED_SAMPLES)
                continue;
        }
        has_any |= n > 0;
        if (riptide_estimator_add_all(estimator, samples, n, outcomes) < 0)
            die("estimator", "out of memory");
        for (size_t i = 0; i < n; i++) {
            if (outcomes[i] != 0)
                die("estimator", "a sample was refused");
        }
        n = 0;
    } while (r == 0);
    return r == RIPTIDE_E_AGAIN && has_any ? 0 : r;
}

int main(int argc, char **argv)
{
    struct riptide_observer *observer = make_observer((size_t)argc - 1, argv + 1);
    struct riptide_estimator *estimator = make_estimator();
    struct pollfd fd = { .fd = riptide_observer_get_fd(observer), .events = POLLIN };
    const struct riptide_estimate *estimate;
    struct riptide_estimator_stats stats;
    uint64_t windows = 0;
    int r = riptide_observer_start(observer);

    /* There is no other work, so it reads without asking whether there is more. */
    while (r == 0 || r == RIPTIDE_E_AGAIN) {
        if (r == RIPTIDE_E_AGAIN && poll(&fd, 1, -1) < 0)
            die("poll", strerror(errno));
        r = riptide_observer_dispatch(observer);
        if (r >= 0)
            r = take_samples(observer, estimator);
    }
    if (r < 0)
        die("observer", strerror(-r));
    riptide_estimator_tick(estimator, 1, false);
    while (riptide_estimator_pop(estimator, &estimate) == 0)
        windows++;
    riptide_estimator_get_stats(estimator, &stats, sizeof(stats));
    printf("%" PRIu64 " samples, %" PRIu64 " windows\n", stats.samples, windows);
    riptide_estimator_free(estimator);
    riptide_observer_free(observer);
    return windows > 0 ? 0 : 1;
}
