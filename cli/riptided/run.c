/* SPDX-License-Identifier: MIT */
#include "daemon.h"

#include "answers.h"
#include "clock.h"
#include "control.h"
#include "log.h"
#include "manager.h"
#include "privileges.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* How the loop ended; this determines what stays in the kernel. */
enum ending {
    ENDING_NONE,
    ENDING_SIGNAL, /* SIGTERM, SIGINT or SIGHUP */
    ENDING_ONCE,   /* the only round is complete */
    ENDING_FAILED, /* the agent cannot go on, or the only round failed */
};

struct run {
    struct daemon daemon;
    struct manager manager;
    struct control *control; /* NULL: none */
    enum ending ending;
};

/* Blocked signals wait in the fd, also those before the loop begins. */
static int open_signals(void)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void on_signal(struct run *run, int fd)
{
    struct signalfd_siginfo info;

    if (read(fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
        return;
    log_line(LOG_INFO, "SIG%s: ending", sigabbrev_np((int)info.ssi_signo));
    run->ending = ENDING_SIGNAL;
}

/* With --once: whether the only round is over. */
static enum ending judge_once(const struct daemon *daemon, const struct riptide_agent_event *event)
{
    const bool is_idle = riptide_agent_get_stats(daemon->agent)->applier->is_idle;

    /* Only a daemon that continues tries again. */
    if (event->kind == RIPTIDE_AGENT_FAILED)
        return ENDING_FAILED;
    /* With many routes a round can end before they are written: later ones go on with it. */
    return event->kind == RIPTIDE_AGENT_TICK && is_idle ? ENDING_ONCE : ENDING_NONE;
}

static void on_event(struct run *run, const struct riptide_agent_event *event)
{
    struct daemon *daemon = &run->daemon;

    health_note(&daemon->health, event);
    if (event->kind == RIPTIDE_AGENT_WINDOW)
        changes_note(&daemon->changes, event->outcome, time(NULL));
    report_event(daemon, event);
    if (event->kind == RIPTIDE_AGENT_TICK) {
        control_touch(run->control);
        manager_tick(&run->manager, event->tick, daemon->health.failure[0] != '\0');
        files_tick(&daemon->files, event->tick);
    }
    if (daemon->settings->once && run->ending == ENDING_NONE)
        run->ending = judge_once(daemon, event);
}

static void on_agent(struct run *run)
{
    struct riptide_agent *agent = run->daemon.agent;
    const struct riptide_agent_event *event;
    int r = riptide_agent_dispatch(agent);

    while (riptide_agent_pop(agent, &event) == 0)
        on_event(run, event);
    if (r < 0) {
        log_line(LOG_ERR, "cannot continue: %s", strerror(-r));
        run->ending = ENDING_FAILED;
    }
}

static void loop(struct run *run, int signals_fd)
{
    struct pollfd fds[2 + CONTROL_MAX_FDS] = {
        { .fd = signals_fd, .events = POLLIN },
        { .fd = riptide_agent_get_fd(run->daemon.agent), .events = POLLIN },
    };

    while (run->ending == ENDING_NONE) {
        int timeout_ms = -1;
        const unsigned int n_control = control_prepare(run->control, fds + 2, &timeout_ms);

        if (poll(fds, 2 + n_control, timeout_ms) < 0) {
            if (errno == EINTR)
                continue;
            log_line(LOG_ERR, "poll: %s", strerror(errno));
            run->ending = ENDING_FAILED;
            return;
        }
        if (fds[0].revents)
            on_signal(run, signals_fd);
        if (fds[1].revents && run->ending == ENDING_NONE)
            on_agent(run);
        if (n_control > 0 && run->ending == ENDING_NONE)
            control_dispatch(run->control, fds + 2, n_control);
    }
}

/* Without a daemon to maintain them, routes are removed, except with --once. */
static int finish(struct daemon *daemon, enum ending ending)
{
    const struct riptide_applier_config *applier = &daemon->settings->applier;
    const struct riptide_agent_stats *agent = riptide_agent_get_stats(daemon->agent);
    const struct riptide_applier_stats stats = *agent->applier;
    int status = ending == ENDING_FAILED ? EXIT_FAILURE : EXIT_SUCCESS;
    struct riptide_error error = { .text = "" };
    int r;

    if (applier->dry_run) {
        if (ending == ENDING_ONCE && agent->estimator->destinations == 0)
            log_line(LOG_INFO, "no window: no connection that counts sends now");
        return status;
    }
    if (ending == ENDING_ONCE) {
        files_save(&daemon->files, true);
        log_line(LOG_WARNING,
                 "rules and routes stay, unmaintained, until `riptide flush`; routes: %" PRIu64,
                 stats.routes);
        return status;
    }
    r = riptide_agent_stop(daemon->agent, &error);
    if (r < 0 && !error.field) {
        log_line(LOG_ERR, "%s; see `riptide status`", error.text);
        status = EXIT_FAILURE;
    } else {
        log_line(LOG_INFO, "ended: all windows are withdrawn, routes: %" PRIu64, stats.routes);
    }
    files_end(&daemon->files, error.field ? r : 0, &error);
    return status;
}

/* Logs why there is no start. Returns the exit status. */
static int report_refusal(const struct settings *settings, struct riptide_error *error, int r)
{
    settings_explain_refusal(settings, error);
    if (r == -EPERM && !error->field && !settings->applier.dry_run && !privileges_has_net_admin())
        log_line(LOG_ERR,
                 NEEDS_NET_ADMIN ", or give it AmbientCapabilities=; --dry-run needs none");
    else
        log_line(r == -EINVAL ? LOG_CRIT : LOG_ERR, "cannot start: %s", log_error_text(error, r));
    return r == -EINVAL ? EXIT_USAGE : EXIT_FAILURE;
}

/* With a hint for each section of a prefix. */
static int make_agent(struct daemon *daemon, struct riptide_error *error)
{
    struct settings *settings = daemon->settings;
    uint32_t *seed = &settings->applier.holdout_seed;
    int r;

    /* Peers must not know which of their connections are held out. */
    if (getrandom(seed, sizeof(*seed), 0) != (ssize_t)sizeof(*seed))
        return -errno;
    r = riptide_agent_new(&daemon->agent, &settings->agent, error);
    for (size_t i = 0; r == 0 && i < settings->n_overrides; i++) {
        r = hints_add(daemon->agent, &settings->overrides[i], error);
        error->index = (int64_t)i;
    }
    return r;
}

/* From an agent to an exit status. */
static int serve(struct run *run)
{
    struct daemon *daemon = &run->daemon;
    const bool is_dry = daemon->settings->applier.dry_run;
    const int signals_fd = open_signals();
    const struct riptide_agent_stats *stats;
    struct riptide_error error = { .text = "" };
    int r = signals_fd < 0 ? -errno : control_check(daemon->settings, &error), status;

    if (r == 0)
        r = riptide_agent_start(daemon->agent, &error);
    if (r < 0)
        return report_refusal(daemon->settings, &error, r);
    manager_init(&run->manager);
    daemon->health.started_ns = clock_read_ns(CLOCK_BOOTTIME);
    stats = riptide_agent_get_stats(daemon->agent);
    if (error.text[0])
        log_line(LOG_WARNING, "%s", error.text);
    else if (stats->state)
        log_line(LOG_INFO, "%s", stats->state);
    files_load(&daemon->files);
    run->control = control_open(daemon->settings, answers, daemon);
    /* All files are open that need root. */
    if (privileges_drop(is_dry, stats->applier->backend, &error) < 0) {
        log_line(LOG_ERR, "%s", error.text);
        run->ending = ENDING_FAILED;
    } else {
        report_start(daemon);
    }
    loop(run, signals_fd);
    manager_stopping();
    status = finish(daemon, run->ending);
    control_close(run->control);
    close(signals_fd);
    return status;
}

/* Making an agent checks everything and changes nothing. */
static int make_daemon(struct daemon *daemon, struct settings *settings,
                       struct riptide_error *error)
{
    gid_t group;
    int r;

    daemon->settings = settings;
    r = make_agent(daemon, error);
    daemon->health.settings = settings;
    daemon->health.agent = daemon->agent;
    daemon->files.settings = settings;
    daemon->files.agent = daemon->agent;
    daemon->files.health = &daemon->health;
    if (r == 0 && settings->check && strcmp(settings->control, "none") != 0)
        r = control_find_group(settings->control_group, &group, error);
    return r;
}

int run_daemon(struct settings *settings)
{
    static struct run run; /* too large for a stack */
    struct riptide_error error = { .text = "" };
    int status = EXIT_SUCCESS, r;

    log_set_level(settings->log_level);
    if (settings->once)
        log_wait_for_reader();
    r = make_daemon(&run.daemon, settings, &error);
    if (r != 0) {
        status = report_refusal(settings, &error, r);
    } else if (settings->check) {
        files_check(settings);
        printf("%s: valid\n", settings->file ? settings->file : "options, without a file");
    } else {
        status = serve(&run);
    }
    json_decref(run.daemon.files.history.hours);
    riptide_agent_free(run.daemon.agent);
    return status;
}
