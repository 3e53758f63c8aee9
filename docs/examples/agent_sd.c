/* SPDX-License-Identifier: MIT */
/* An agent in a loop of sd-event: one round of a dry run. agent.c gives windows until a signal. */
#include <riptide/agent.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-event.h>

static int on_readable(sd_event_source *source, int fd, uint32_t events, void *data)
{
    sd_event *loop = sd_event_source_get_event(source);
    struct riptide_agent *agent = data;
    const struct riptide_agent_event *event;
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];
    int r = riptide_agent_dispatch(agent);

    (void)fd, (void)events;
    if (r < 0)
        sd_event_exit(loop, r);
    while (riptide_agent_pop(agent, &event) == 0) {
        if (event->kind == RIPTIDE_AGENT_WINDOW && event->outcome->backend == RIPTIDE_ROUTES) {
            riptide_prefix_format(&event->window->dst, dst);
            printf("%s %u\n", dst, event->outcome->initcwnd);
        }
        if (r >= 0 && event->kind == RIPTIDE_AGENT_TICK)
            sd_event_exit(loop, 0);
    }
    return 0;
}

int main(void)
{
    struct riptide_applier_config applier;
    struct riptide_agent_config config;
    struct riptide_agent *agent;
    struct riptide_error error;
    sd_event *loop;
    int r;

    riptide_applier_config_init(&applier, sizeof(applier));
    applier.dry_run = true;
    riptide_agent_config_init(&config, sizeof(config));
    config.applier = &applier;
    if (riptide_agent_new(&agent, &config, &error) < 0 || riptide_agent_start(agent, &error) < 0)
        return fprintf(stderr, "%s\n", error.text), 1;
    sd_event_default(&loop);
    sd_event_add_io(loop, NULL, riptide_agent_get_fd(agent), EPOLLIN, on_readable, agent);
    r = sd_event_loop(loop);
    /* First the source: from the stop on the fd stays readable. */
    sd_event_unref(loop);
    if (r < 0)
        fprintf(stderr, "agent: %s\n", strerror(-r));
    if (riptide_agent_stop(agent, &error) < 0)
        fprintf(stderr, "%s\n", error.text);
    riptide_agent_free(agent);
    return r < 0;
}
