/* SPDX-License-Identifier: MIT */
/* An agent in a loop of libevent: one round of a dry run. agent.c gives windows until a signal. */
#include <event2/event.h>
#include <riptide/agent.h>
#include <stdio.h>
#include <string.h>

static struct event_base *base;
static int result;

static void on_readable(evutil_socket_t fd, short events, void *data)
{
    struct riptide_agent *agent = data;
    const struct riptide_agent_event *event;
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];

    (void)fd, (void)events;
    result = riptide_agent_dispatch(agent);
    if (result < 0)
        event_base_loopbreak(base);
    while (riptide_agent_pop(agent, &event) == 0) {
        if (event->kind == RIPTIDE_AGENT_WINDOW && event->outcome->backend == RIPTIDE_ROUTES) {
            riptide_prefix_format(&event->window->dst, dst);
            printf("%s %u\n", dst, event->outcome->initcwnd);
        }
        if (event->kind == RIPTIDE_AGENT_TICK)
            event_base_loopbreak(base);
    }
}

int main(void)
{
    struct riptide_applier_config applier;
    struct riptide_agent_config config;
    struct riptide_agent *agent;
    struct riptide_error error;
    struct event *readable;

    riptide_applier_config_init(&applier, sizeof(applier));
    applier.dry_run = true;
    riptide_agent_config_init(&config, sizeof(config));
    config.applier = &applier;
    if (riptide_agent_new(&agent, &config, &error) < 0 || riptide_agent_start(agent, &error) < 0)
        return fprintf(stderr, "%s\n", error.text), 1;
    base = event_base_new();
    readable =
        event_new(base, riptide_agent_get_fd(agent), EV_READ | EV_PERSIST, on_readable, agent);
    event_add(readable, NULL);
    event_base_dispatch(base);
    /* First the event: from the stop on the fd stays readable. */
    event_free(readable);
    event_base_free(base);
    if (result < 0)
        fprintf(stderr, "agent: %s\n", strerror(-result));
    if (riptide_agent_stop(agent, &error) < 0)
        fprintf(stderr, "%s\n", error.text);
    riptide_agent_free(agent);
    return result < 0;
}
