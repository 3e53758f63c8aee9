/* SPDX-License-Identifier: MIT */
/*
 * A host of libriptide that serves containers: an agent for each network namespace that the command
 * line names, all of them in one edge-triggered epoll loop and one thread. A namespace whose path
 * leads there no longer ends its part quietly; with the last one, or on SIGTERM, the program ends.
 * On SIGHUP each agent is given its namespace again, and then, in vain, the program's own.
 *
 * containers INTERVAL_MS POLICY PATH...: "default" is no policy, and all is by default
 */
#include "tools.h"

#include <errno.h>
#include <fcntl.h>
#include <riptide/agent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

struct container {
    const char *path;
    int netns_fd;
    struct riptide_agent *agent; /* NULL: not served any more */
};

static int start(struct container *container, int epoll_fd, uint64_t interval_ns,
                 const char *policy)
{
    struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.ptr = container };
    struct riptide_estimator_config estimator;
    struct riptide_agent_config config;
    struct riptide_error error;
    int r;

    container->netns_fd = open(container->path, O_RDONLY | O_CLOEXEC);
    if (container->netns_fd < 0) { /* as netns_fd it would mean this thread's own namespace */
        r = -errno;
        printf("%s: %s\n", container->path, strerror(-r));
        return r;
    }
    riptide_estimator_config_init(&estimator, sizeof(estimator));
    estimator.policy = riptide_policy_find(policy);
    riptide_agent_config_init(&config, sizeof(config));
    if (strcmp(policy, "default") != 0)
        config.estimator = &estimator;
    config.interval_ns = interval_ns;
    config.netns_fd = container->netns_fd;
    r = riptide_agent_new(&container->agent, &config, &error);
    if (r == 0)
        r = riptide_agent_start(container->agent, &error);
    if (r < 0)
        printf("%s: %s\n", container->path, error.text);
    else
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, riptide_agent_get_fd(container->agent), &event);
    return r;
}

/* Closing the agent's fd takes it out of the loop. */
static void end(struct container *container)
{
    riptide_agent_stop(container->agent);
    container->agent = riptide_agent_free(container->agent);
    close(container->netns_fd);
}

/* Until nothing is left. Once a round: is there still somebody to serve? */
static void serve(struct container *container)
{
    const struct riptide_agent_event *event;
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];
    bool is_gone = false;
    int r;

    do {
        r = riptide_agent_dispatch(container->agent);
        while (riptide_agent_pop(container->agent, &event) == 0) {
            if (event->kind == RIPTIDE_AGENT_TICK)
                is_gone |= !riptide_netns_is_at(container->netns_fd, container->path);
            if (event->kind == RIPTIDE_AGENT_ROUTE) {
                riptide_prefix_format(&event->route->dst, dst);
                printf("%s: %s %u\n", container->path, dst, event->route->initcwnd);
            }
        }
    } while (r == RIPTIDE_E_MORE);
    if (is_gone || r < 0) {
        printf("%s: gone\n", container->path);
        end(container);
    }
}

static void reconfigure(struct container *container, uint64_t interval_ns)
{
    struct riptide_estimator_config estimator;
    struct riptide_agent_config config;
    struct riptide_error error = { .text = "" };
    int r;

    riptide_estimator_config_init(&estimator, sizeof(estimator));
    estimator.policy = riptide_policy_find("paper");
    riptide_agent_config_init(&config, sizeof(config));
    config.estimator = &estimator;
    config.interval_ns = interval_ns;
    config.netns_fd = open(container->path, O_RDONLY | O_CLOEXEC);
    r = riptide_agent_reconfigure(container->agent, &config, &error);
    printf("the same: %d %s\n", r, error.text);
    close(config.netns_fd);
    config.netns_fd = -1;
    r = riptide_agent_reconfigure(container->agent, &config, &error);
    printf("another: %d %s\n", r, error.text);
}

static int open_signals(int epoll_fd)
{
    struct epoll_event event = { .events = EPOLLIN };
    sigset_t signals;
    int fd;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    fd = signalfd(-1, &signals, SFD_CLOEXEC);
    return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : fd;
}

static bool is_told_to_end(int signal_fd)
{
    struct signalfd_siginfo info;

    return read(signal_fd, &info, sizeof(info)) < 0 || info.ssi_signo == SIGTERM;
}

int main(int argc, char **argv)
{
    static struct container *containers; /* for the leak sanitizer, where a start fails */
    int n = argc - 3, n_served = 0, epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = { .data.ptr = NULL };
    int signal_fd = open_signals(epoll_fd);

    containers = n > 0 ? calloc((size_t)n, sizeof(*containers)) : NULL;
    if (!containers || signal_fd < 0)
        return EXIT_FAILURE;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 0; i < n; i++) {
        containers[i].path = argv[i + 3];
        if (start(&containers[i], epoll_fd, strtoull(argv[1], NULL, 10) * 1000000, argv[2]) < 0)
            return EXIT_FAILURE;
        n_served++;
    }
    puts("ready");
    while (n_served > 0) {
        if (epoll_wait(epoll_fd, &event, 1, -1) < 0)
            continue;
        if (!event.data.ptr) {
            if (is_told_to_end(signal_fd))
                break;
            for (int i = 0; i < n && containers[i].agent; i++)
                reconfigure(&containers[i], strtoull(argv[1], NULL, 10) * 1000000);
            continue;
        }
        serve(event.data.ptr);
        n_served -= !((struct container *)event.data.ptr)->agent;
    }
    for (int i = 0; i < n; i++) {
        if (containers[i].agent)
            end(&containers[i]);
    }
    free(containers);
    return EXIT_SUCCESS;
}
