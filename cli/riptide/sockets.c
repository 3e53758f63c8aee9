/* SPDX-License-Identifier: MIT */
#include "sockets.h"

#include "log.h"
#include "options.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

int sockets_try_open(struct riptide_observer **observerp, const struct command_options *options,
                     struct riptide_error *error)
{
    struct riptide_observer_config config;
    struct value_list learn = { .n = 0 };
    int r;

    for (int i = 0; i < options->n_operands; i++) {
        if (value_prefixes.parse(&learn, options->operands[i]) < 0)
            command_fail(EXIT_USAGE, "%s: %s", options->operands[i], value_prefixes.expected);
    }
    riptide_observer_config_init(&config, sizeof(config));
    config.scope.learn = learn.items;
    config.scope.n_learn = learn.n;
    r = riptide_observer_new(observerp, &config, error);
    free(learn.items);
    return r;
}

struct riptide_observer *sockets_open(const struct command_options *options)
{
    struct riptide_observer *observer = NULL;
    struct riptide_error error;
    int r = sockets_try_open(&observer, options, &error);

    if (r < 0)
        command_fail(EXIT_FAILURE, "%s", log_error_text(&error, r));
    return observer;
}

/* Gives the samples of one buffer. Returns the last outcome; *has_anyp: there were some. */
static int take_buffer(struct riptide_observer *observer, void *userdata, sockets_function *take,
                       bool *has_anyp)
{
    const struct riptide_sample *samples[RIPTIDE_POPPED_SAMPLES];
    size_t n;
    int r;

    *has_anyp = false;
    do {
        n = 0;
        do
            r = riptide_observer_pop(observer, &samples[n]);
        while (r == 0 && ++n < RIPTIDE_POPPED_SAMPLES);
        if (n > 0) {
            *has_anyp = true;
            take(userdata, samples, n);
        }
    } while (r == 0);
    return r;
}

int sockets_try_dump(struct riptide_observer *observer, void *userdata, sockets_function *take)
{
    struct pollfd fd = { .fd = riptide_observer_get_fd(observer), .events = POLLIN };
    int r = riptide_observer_start(observer);
    bool has_any;

    while (r >= 0 && r != RIPTIDE_E_DONE) {
        r = riptide_observer_dispatch(observer);
        if (r >= 0)
            r = take_buffer(observer, userdata, take, &has_any);
        /* There is no other work: only an empty socket is waited for. */
        if (r == RIPTIDE_E_AGAIN && !has_any)
            poll(&fd, 1, -1);
    }
    return r < 0 ? r : 0;
}

void sockets_dump(struct riptide_observer *observer, void *userdata, sockets_function *take)
{
    int r = sockets_try_dump(observer, userdata, take);

    if (r < 0)
        command_fail(EXIT_FAILURE, "%s", strerror(-r));
}
