/* SPDX-License-Identifier: MIT */
/*
 * A host program: an agent in a loop of its own. It gives windows, and prints what becomes of each,
 * until SIGTERM or SIGINT. Needs CAP_NET_ADMIN, and keeps it until it has taken all back.
 */
#include <poll.h>
#include <riptide/agent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>

static void print(const struct riptide_agent_event *event)
{
    const struct riptide_route *outcome = event->outcome;
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];

    if (event->kind == RIPTIDE_AGENT_WINDOW) {
        riptide_prefix_format(&event->window->dst, dst);
        printf("%s: %u %s by %s %s\n", dst, outcome->initcwnd,
               riptide_name(RIPTIDE_NAMES_ROUTE_STATE, outcome->state),
               riptide_name(RIPTIDE_NAMES_BACKEND, outcome->backend), outcome->reason);
    } else if (event->reason) {
        printf("%s: %s\n", riptide_name(RIPTIDE_NAMES_EVENT, event->kind), event->reason);
    }
}

int main(void)
{
    const struct riptide_agent_event *event;
    struct riptide_agent_config config;
    struct riptide_agent *agent;
    struct riptide_error error;
    sigset_t signals;
    int r = 0, stopped;

    setvbuf(stdout, NULL, _IOLBF, 0);
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    riptide_agent_config_init(&config, sizeof(config));
    if (riptide_agent_new(&agent, &config, &error) < 0 || riptide_agent_start(agent, &error) < 0)
        return fprintf(stderr, "%s\n", error.text), 1;
    if (error.text[0]) /* what a killed process had left, or why the state is not used */
        fprintf(stderr, "%s\n", error.text);
    struct pollfd fds[] = { { riptide_agent_get_fd(agent), POLLIN, 0 },
                            { signalfd(-1, &signals, SFD_CLOEXEC), POLLIN, 0 } };
    while (r >= 0 && poll(fds, 2, -1) > 0 && !fds[1].revents) {
        r = riptide_agent_dispatch(agent);
        while (riptide_agent_pop(agent, &event) == 0)
            print(event);
    }
    if (r < 0)
        fprintf(stderr, "agent: %s\n", strerror(-r));
    /* Also after an error: else routes stay, and no longer follow those that they copy. */
    stopped = riptide_agent_stop(agent, &error);
    if (stopped < 0)
        fprintf(stderr, "%s\n", error.text);
    riptide_agent_free(agent);
    return r < 0 || stopped < 0;
}
