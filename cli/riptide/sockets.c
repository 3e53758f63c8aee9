/* SPDX-License-Identifier: MIT */
#include "sockets.h"

#include "log.h"
#include "options.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

struct riptide_observer *sockets_open(const struct command_options *options)
{
    struct riptide_observer *observer = NULL;
    struct riptide_observer_config config;
    struct riptide_error error;
    struct value_list learn = { .n = 0 };
    int r;

    for (int i = 0; i < options->n_operands; i++) {
        if (value_prefixes.parse(&learn, options->operands[i]) < 0)
            command_fail(EXIT_USAGE, "%s: %s", options->operands[i], value_prefixes.expected);
    }
    riptide_observer_config_init(&config, sizeof(config));
    config.scope.learn = learn.items;
    config.scope.n_learn = learn.n;
    r = riptide_observer_new(&observer, &config, &error);
    if (r < 0)
        command_fail(EXIT_FAILURE, "%s", log_error_text(&error, r));
    free(learn.items);
    return observer;
}

void sockets_dump(struct riptide_observer *observer, void *userdata,
                  void (*take)(void *userdata, const struct riptide_sample *sample))
{
    struct pollfd fd = { .fd = riptide_observer_get_fd(observer), .events = POLLIN };
    const struct riptide_sample *sample;
    int r = riptide_observer_start(observer);

    while (r >= 0 && r != RIPTIDE_E_DONE) {
        poll(&fd, 1, -1);
        r = riptide_observer_dispatch(observer);
        while (r >= 0 && (r = riptide_observer_pop(observer, &sample)) == 0)
            take(userdata, sample);
    }
    if (r < 0)
        command_fail(EXIT_FAILURE, "%s", strerror(-r));
}
