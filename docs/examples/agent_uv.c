/* SPDX-License-Identifier: MIT */
/* An agent in a loop of libuv: one round of a dry run. agent.c gives windows until a signal. */
#include <riptide/agent.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

static int result;

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct riptide_agent *agent = poll->data;
    const struct riptide_agent_event *event;
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];

    (void)status, (void)events;
    result = riptide_agent_dispatch(agent);
    if (result < 0)
        uv_poll_stop(poll); /* the loop ends without an active handle */
    while (riptide_agent_pop(agent, &event) == 0) {
        if (event->kind == RIPTIDE_AGENT_WINDOW && event->outcome->backend == RIPTIDE_ROUTES) {
            riptide_prefix_format(&event->window->dst, dst);
            printf("%s %u\n", dst, event->outcome->initcwnd);
        }
        if (event->kind == RIPTIDE_AGENT_TICK)
            uv_poll_stop(poll);
    }
}

int main(void)
{
    struct riptide_applier_config applier;
    struct riptide_agent_config config;
    struct riptide_agent *agent;
    struct riptide_error error;
    uv_poll_t poll;

    riptide_applier_config_init(&applier, sizeof(applier));
    applier.dry_run = true;
    riptide_agent_config_init(&config, sizeof(config));
    config.applier = &applier;
    if (riptide_agent_new(&agent, &config, &error) < 0 || riptide_agent_start(agent, &error) < 0)
        return fprintf(stderr, "%s\n", error.text), 1;
    uv_poll_init(uv_default_loop(), &poll, riptide_agent_get_fd(agent));
    poll.data = agent;
    uv_poll_start(&poll, UV_READABLE, on_readable);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    /* First the handle: from the stop on the fd stays readable. */
    uv_close((uv_handle_t *)&poll, NULL);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    if (result < 0)
        fprintf(stderr, "agent: %s\n", strerror(-result));
    if (riptide_agent_stop(agent, &error) < 0)
        fprintf(stderr, "%s\n", error.text);
    riptide_agent_free(agent);
    return result < 0;
}
