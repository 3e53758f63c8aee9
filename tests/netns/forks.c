/* SPDX-License-Identifier: MIT */
/*
 * A host of libriptide that forks, and whose agent ends in an exit handler, as the destructor of a
 * C++ object would end it: also in children. One command a line on stdin, each with an answer; end
 * of input ends the program.
 *
 *     round         waits for two ticks: "round DISPATCHES", how many calls they took
 *     fork calls    a child that tries all that does I/O, "CALL RESULT LINE" each, and ends with
 *                   exit(3): "child STATUS"; then "observer SAMPLES" of a dump that was under way,
 *                   "applier sleeps" or "applier spins"
 *     fork keep     a child that lives on with its copies: "child PID"
 *     fork free     the same, but it frees them first
 */

#include <err.h>
#include <errno.h>
#include <poll.h>
#include <riptide/agent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    INTERVAL_NS = 50 * 1000 * 1000,
    DEADLINE_MS = 20000,
    MAX_DISPATCHES = 1000,
    LINE_BYTES = 64,
};

static struct riptide_observer_config observer_config;
static struct riptide_estimator_config estimator_config;
static struct riptide_applier_config applier_config;
static struct riptide_agent_config config;
/* Two stages alone, beside an agent. */
static struct riptide_observer *observer;
static struct riptide_applier *applier;
static struct riptide_agent *agent;

static void free_all(void)
{
    agent = riptide_agent_free(agent);
    applier = riptide_applier_free(applier);
    observer = riptide_observer_free(observer);
}

static void end(void)
{
    if (agent)
        riptide_agent_stop(agent, NULL);
    free_all();
}

static void check(int r, const struct riptide_error *error)
{
    if (r >= 0)
        return;
    printf("error %s\n", error->text);
    exit(EXIT_FAILURE);
}

static void start(void)
{
    struct riptide_error error;

    riptide_observer_config_init(&observer_config, sizeof(observer_config));
    observer_config.destroy_events = true;
    riptide_estimator_config_init(&estimator_config, sizeof(estimator_config));
    estimator_config.policy = riptide_policy_find("paper");
    riptide_applier_config_init(&applier_config, sizeof(applier_config));
    applier_config.dry_run = true;
    riptide_agent_config_init(&config, sizeof(config));
    config.interval_ns = INTERVAL_NS;
    config.observer = &observer_config;
    config.estimator = &estimator_config;
    check(riptide_observer_new(&observer, &observer_config, &error), &error);
    check(riptide_applier_new(&applier, &applier_config, &error), &error);
    check(riptide_applier_start(applier, &error), &error);
    check(riptide_agent_new(&agent, &config, &error), &error);
    check(riptide_agent_start(agent, &error), &error);
}

static bool is_readable(int fd, int timeout_ms)
{
    struct pollfd one = { .fd = fd, .events = POLLIN };

    return poll(&one, 1, timeout_ms) == 1;
}

/* Returns how many ticks ended. */
static int serve(void)
{
    const struct riptide_agent_event *event;
    int n_ticks = 0, r = riptide_agent_dispatch(agent);

    if (r < 0)
        errx(EXIT_FAILURE, "dispatch: %s", strerror(-r));
    while (riptide_agent_pop(agent, &event) == 0) {
        n_ticks += event->kind == RIPTIDE_AGENT_TICK;
        if (event->kind == RIPTIDE_AGENT_FAILED)
            errx(EXIT_FAILURE, "a dump was given up: %s", event->reason);
    }
    return n_ticks;
}

static void wait_for_ticks(void)
{
    int n_dispatches = 0;

    for (int n_ticks = 0; n_ticks < 2; n_dispatches++) {
        if (!is_readable(riptide_agent_get_fd(agent), DEADLINE_MS))
            errx(EXIT_FAILURE, "no tick any more");
        n_ticks += serve();
    }
    printf("round %d\n", n_dispatches);
}

/* Returns whether it sleeps in the end. */
static bool settle_applier(void)
{
    for (int i = 0; i < MAX_DISPATCHES; i++) {
        if (!is_readable(riptide_applier_get_fd(applier), 0))
            return true;
        riptide_applier_dispatch(applier);
    }
    return false;
}

static void print_samples(void)
{
    const struct riptide_sample *sample;
    int n_samples = 0, r = RIPTIDE_E_AGAIN;

    while (r != RIPTIDE_E_DONE) {
        if (!is_readable(riptide_observer_get_fd(observer), DEADLINE_MS))
            errx(EXIT_FAILURE, "the dump does not end");
        riptide_observer_dispatch(observer);
        while ((r = riptide_observer_pop(observer, &sample)) == 0)
            n_samples++;
    }
    printf("observer %d\n", n_samples);
}

static void print(const char *call, int r, struct riptide_error *error)
{
    printf("%s %d %s\n", call, r, error->text);
    error->text[0] = '\0';
}

#define TRY(call, ...) print(#call, riptide_##call(__VA_ARGS__), &error)

static void try_all(void)
{
    const struct riptide_wanted wanted = {
        .dst = { .family = AF_INET, .len = 32, .addr = { 198, 51, 100, 1 } },
        .initcwnd = 20,
    };
    struct riptide_error error = { .text = "" };
    const struct riptide_sample *sample;

    TRY(observer_start, observer);
    TRY(observer_dispatch, observer);
    while (riptide_observer_pop(observer, &sample) == 0)
        ;
    TRY(observer_pop, observer, &sample);
    TRY(applier_set, applier, &wanted);
    TRY(applier_set_paused, applier, true);
    riptide_applier_set_paused(applier, false);
    TRY(applier_start, applier, &error);
    TRY(applier_dispatch, applier);
    TRY(applier_stop, applier);
    TRY(agent_start, agent, &error);
    TRY(agent_set_paused, agent, true);
    riptide_agent_set_paused(agent, false);
    TRY(agent_dispatch, agent);
    TRY(agent_stop, agent, &error);
}

static void fork_child(const char *what)
{
    bool lives_on = strcmp(what, "keep") == 0 || strcmp(what, "free") == 0;
    pid_t child;
    int status;

    settle_applier();
    riptide_observer_start(observer);
    child = fork();
    if (child < 0)
        err(EXIT_FAILURE, "fork");
    if (child > 0) {
        if (lives_on)
            return;
        if (waitpid(child, &status, 0) < 0)
            err(EXIT_FAILURE, "waitpid");
        printf("child %d\n", status);
        print_samples();
        printf("applier %s\n", settle_applier() ? "sleeps" : "spins");
        return;
    }
    if (strcmp(what, "calls") == 0)
        try_all();
    if (strcmp(what, "free") == 0)
        free_all();
    if (lives_on)
        printf("child %d\n", (int)getpid());
    while (lives_on)
        pause();
    exit(EXIT_SUCCESS);
}

static void follow(const char *line)
{
    if (strcmp(line, "round") == 0)
        wait_for_ticks();
    else if (strncmp(line, "fork ", 5) == 0)
        fork_child(line + 5);
}

int main(void)
{
    char line[LINE_BYTES];
    ssize_t n = 1;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (atexit(end) != 0)
        return EXIT_FAILURE;
    start();
    puts("ready");
    while (n > 0) {
        struct pollfd fds[2] = { { .fd = riptide_agent_get_fd(agent), .events = POLLIN },
                                 { .fd = STDIN_FILENO, .events = POLLIN } };

        if (poll(fds, 2, -1) < 0)
            continue;
        if (fds[0].revents)
            serve();
        if (!fds[1].revents)
            continue;
        n = read(STDIN_FILENO, line, sizeof(line) - 1);
        line[n > 0 ? n - 1 : 0] = '\0';
        follow(line);
    }
    return EXIT_SUCCESS;
}
