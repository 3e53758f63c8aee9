/* SPDX-License-Identifier: MIT */
/*
 * A host of libriptide that serves containers: an agent for each network namespace that the command
 * line names, made in that namespace; all else happens in the program's own, in one edge-triggered
 * epoll loop and one thread. A namespace whose path leads there no longer ends its part quietly;
 * with the last one, or where its input ends, the program ends. Its agents end in an exit handler, as
 * the destructor of a C++ object would end them: also in children.
 *
 * containers [--cgroup CGROUP] PATH...
 *
 * With a cgroup a program for each namespace gives windows. Lines in:
 *
 *     wakeups       "wakeups N": how often the loop has turned since the last answer
 *     fork exit     a child that ends by exit(3): "child STATUS"
 *     fork keep     a child that lives on with its copies: "child PID"
 *     fork free     the same, but it frees them first
 */
#include <err.h>
#include <fcntl.h>
#include <riptide/agent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct container {
    const char *path;
    int netns_fd;
    struct riptide_agent *agent; /* NULL: not served any more */
};

enum { INTERVAL_NS = 50 * 1000 * 1000, LINE_BYTES = 64 };

static struct container *containers;
static int n_containers, n_served;

static void enter(int netns_fd)
{
    if (setns(netns_fd, CLONE_NEWNET) < 0)
        err(EXIT_FAILURE, "setns");
}

static int start(struct container *container, int home_fd, int epoll_fd, const char *cgroup)
{
    struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.ptr = container };
    struct riptide_estimator_config estimator;
    struct riptide_applier_config applier;
    struct riptide_agent_config config;
    struct riptide_error error;
    int r;

    container->netns_fd = open(container->path, O_RDONLY | O_CLOEXEC);
    if (container->netns_fd < 0)
        err(EXIT_FAILURE, "%s", container->path);
    riptide_estimator_config_init(&estimator, sizeof(estimator));
    estimator.policy = riptide_policy_find("paper");
    riptide_applier_config_init(&applier, sizeof(applier));
    applier.cgroup = cgroup;
    applier.backend = cgroup ? RIPTIDE_PROGRAM : RIPTIDE_ROUTES;
    riptide_agent_config_init(&config, sizeof(config));
    config.estimator = &estimator;
    config.interval_ns = INTERVAL_NS;
    config.applier = &applier;
    enter(container->netns_fd);
    r = riptide_agent_new(&container->agent, &config, &error);
    enter(home_fd);
    if (r == 0)
        r = riptide_agent_start(container->agent, &error);
    if (r < 0) {
        printf("%s: %s\n", container->path, error.text);
        container->agent = riptide_agent_free(container->agent);
        return r;
    }
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, riptide_agent_get_fd(container->agent), &event);
    n_served++;
    return 0;
}

/* Closing the agent's fd takes it out of the loop. */
static void end(struct container *container)
{
    riptide_agent_stop(container->agent, NULL);
    container->agent = riptide_agent_free(container->agent);
    close(container->netns_fd);
    n_served--;
}

static bool is_there(const struct container *container)
{
    struct stat held, found;

    return fstat(container->netns_fd, &held) == 0 && stat(container->path, &found) == 0 &&
           held.st_dev == found.st_dev && held.st_ino == found.st_ino;
}

/* Until no work is left. Once a round: is any namespace left to serve? */
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
                is_gone |= !is_there(container);
            if (event->kind == RIPTIDE_AGENT_WINDOW) {
                riptide_prefix_format(&event->window->dst, dst);
                printf("%s: %s %u\n", container->path, dst, event->outcome->initcwnd);
            }
        }
    } while (r == RIPTIDE_E_MORE);
    if (is_gone || r < 0) {
        printf("%s: gone\n", container->path);
        end(container);
    }
}

static void end_all(void)
{
    for (int i = 0; i < n_containers; i++) {
        if (containers[i].agent)
            end(&containers[i]);
    }
    free(containers);
}

static void fork_child(const char *what)
{
    bool lives_on = strcmp(what, "exit") != 0;
    pid_t child = fork();
    int status;

    if (child > 0) {
        if (!lives_on && waitpid(child, &status, 0) == child)
            printf("child %d\n", status);
        return;
    }
    if (!lives_on)
        exit(EXIT_SUCCESS);
    if (strcmp(what, "free") == 0)
        containers->agent = riptide_agent_free(containers->agent);
    printf("child %d\n", (int)getpid());
    for (;;)
        pause();
}

/* Outcome: whether there was a line. */
static bool follow_line(int *n_wakeupsp)
{
    char line[LINE_BYTES];
    ssize_t n = read(STDIN_FILENO, line, sizeof(line) - 1);

    if (n <= 0)
        return false;
    line[n - 1] = '\0';
    if (strncmp(line, "fork ", 5) == 0) {
        fork_child(line + 5);
    } else {
        printf("wakeups %d\n", *n_wakeupsp);
        *n_wakeupsp = 0;
    }
    return true;
}

int main(int argc, char **argv)
{
    const char *cgroup = argc > 2 && strcmp(argv[1], "--cgroup") == 0 ? argv[2] : NULL;
    char **paths = argv + (cgroup ? 3 : 1);
    int n = argc - (cgroup ? 3 : 1), n_wakeups = 0, epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    int home_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = NULL };

    containers = n > 0 ? calloc((size_t)n, sizeof(*containers)) : NULL;
    if (!containers || atexit(end_all) != 0 ||
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, STDIN_FILENO, &event) < 0)
        return EXIT_FAILURE;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (; n_containers < n; n_containers++) {
        containers[n_containers].path = paths[n_containers];
        if (start(&containers[n_containers], home_fd, epoll_fd, cgroup) < 0)
            return EXIT_FAILURE;
    }
    puts("ready");
    while (n_served > 0) {
        if (epoll_wait(epoll_fd, &event, 1, -1) < 0)
            continue;
        n_wakeups++;
        if (event.data.ptr)
            serve(event.data.ptr);
        else if (!follow_line(&n_wakeups))
            break;
    }
    return EXIT_SUCCESS;
}
