/* SPDX-License-Identifier: MIT */
/*
 * A host program: an agent in a loop of its own. It prints each destination with its window as
 * `riptided --dry-run --once` would apply it, and ends after the first tick.
 */
#include <poll.h>
#include <riptide/agent.h>
#include <stdbool.h>
#include <stdio.h>

int main(void)
{
    struct riptide_applier_config applier;
    struct riptide_agent_config config;
    const struct riptide_agent_event *event;
    struct riptide_agent *agent;
    struct riptide_error error = { .text = "" };
    struct pollfd fd = { .events = POLLIN };
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];
    bool has_ticked = false;

    riptide_applier_config_init(&applier, sizeof(applier));
    applier.dry_run = true;
    riptide_agent_config_init(&config, sizeof(config));
    config.applier = &applier;
    if (riptide_agent_new(&agent, &config, &error) || riptide_agent_start(agent, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    fd.fd = riptide_agent_get_fd(agent);
    while (!has_ticked && poll(&fd, 1, 5000) == 1 && riptide_agent_dispatch(agent) >= 0) {
        while (!has_ticked && riptide_agent_pop(agent, &event) == 0) {
            has_ticked = event->kind == RIPTIDE_AGENT_TICK;
            if (event->kind == RIPTIDE_AGENT_WINDOW && event->window->route == event->outcome) {
                riptide_prefix_format(&event->window->dst, dst);
                printf("%s %u\n", dst, event->outcome->initcwnd);
            }
        }
    }
    riptide_agent_free(agent);
    return 0;
}
