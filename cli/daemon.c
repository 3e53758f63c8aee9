/* SPDX-License-Identifier: MIT */
/*
 * The daemon's life: making, starting, dispatching and stopping the agent. The loop waits for the
 * agent's fd, signals and clients; report.c writes the log. The daemon speaks sd_notify(3)'s
 * protocol with the service manager, without libsystemd: a datagram does not justify a dependency.
 */
#include "daemon.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

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

static void on_signal(struct daemon *daemon, int fd)
{
    struct signalfd_siginfo info;

    if (read(fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
        return;
    log_line(LOG_INFO, "SIG%s: ending", sigabbrev_np((int)info.ssi_signo));
    daemon->ending = ENDING_SIGNAL;
}

/* To a path, or to an abstract name that begins with @. Returns whether it was sent. */
static bool notify(const char *text)
{
    struct sockaddr_un manager = { .sun_family = AF_UNIX };
    const char *name = getenv("NOTIFY_SOCKET");
    const size_t len = name ? strlen(name) : 0;
    bool is_sent;
    int fd;

    if (len == 0 || len >= sizeof(manager.sun_path))
        return false;
    memcpy(manager.sun_path, name, len);
    if (name[0] == '@')
        manager.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    is_sent = sendto(fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL,
                     (const struct sockaddr *)&manager,
                     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) >= 0;
    close(fd);
    return is_sent;
}

/*
 * Ready is the daemon after the first round without a failure. A running loop is no sign of life: a
 * round that never ends would not be detected. As rounds may be far apart, the manager is asked to
 * wait for the next one in addition to its timeout.
 */
static void tell_manager(struct daemon *daemon, const struct riptide_tick *tick)
{
    char text[64];

    if (!daemon->is_ready && !daemon->health.failure[0])
        daemon->is_ready = notify("READY=1");
    if (!daemon->is_ready || daemon->watchdog_us == 0 ||
        tick->finished_ns - daemon->told_ns < daemon->watchdog_us * 1000 / 2)
        return;
    daemon->told_ns = tick->finished_ns;
    snprintf(text, sizeof(text), "WATCHDOG=1\nWATCHDOG_USEC=%" PRIu64,
             daemon->watchdog_us + tick->interval_ns / 1000);
    notify(text);
}

static void on_event(struct daemon *daemon, const struct riptide_agent_event *event)
{
    const bool is_tick = event->kind == RIPTIDE_AGENT_TICK;

    health_note(daemon, event);
    report_event(daemon, event);
    if (is_tick) {
        tell_manager(daemon, event->tick);
        files_tick(daemon, event->tick);
    }
    if (!daemon->settings->once)
        return;
    /* With many routes a round can end before they are written: later ones go on with it. */
    if (is_tick && riptide_agent_get_stats(daemon->agent)->applier->is_idle)
        daemon->ending = ENDING_ONCE;
    /* Only a daemon that continues tries again. */
    if (event->kind == RIPTIDE_AGENT_FAILED)
        daemon->ending = ENDING_FAILED;
}

static void on_agent(struct daemon *daemon)
{
    const struct riptide_agent_event *event;
    int r = riptide_agent_dispatch(daemon->agent);

    while (riptide_agent_pop(daemon->agent, &event) == 0)
        on_event(daemon, event);
    if (r < 0) {
        log_line(LOG_ERR, "cannot continue: %s", strerror(-r));
        daemon->ending = ENDING_FAILED;
    }
}

static void run(struct daemon *daemon, int signals_fd)
{
    struct pollfd fds[2 + CONTROL_MAX_FDS] = {
        { .fd = signals_fd, .events = POLLIN },
        { .fd = riptide_agent_get_fd(daemon->agent), .events = POLLIN },
    };

    while (daemon->ending == ENDING_NONE) {
        int timeout_ms = -1;
        const unsigned int n_control = control_prepare(daemon->control, fds + 2, &timeout_ms);

        if (poll(fds, 2 + n_control, timeout_ms) < 0) {
            if (errno == EINTR)
                continue;
            log_line(LOG_ERR, "poll: %s", strerror(errno));
            daemon->ending = ENDING_FAILED;
            return;
        }
        if (fds[0].revents)
            on_signal(daemon, signals_fd);
        if (fds[1].revents && daemon->ending == ENDING_NONE)
            on_agent(daemon);
        if (n_control > 0 && daemon->ending == ENDING_NONE)
            control_dispatch(daemon->control, fds + 2, n_control);
    }
}

/* Without a daemon to maintain them, routes are removed, except with --once. */
static int finish(struct daemon *daemon)
{
    const struct riptide_applier_config *applier = &daemon->settings->applier;
    const struct riptide_agent_stats *agent = riptide_agent_get_stats(daemon->agent);
    const struct riptide_applier_stats stats = *agent->applier;
    int status = daemon->ending == ENDING_FAILED ? EXIT_FAILURE : EXIT_SUCCESS;
    struct riptide_error error = { .text = "" };
    int r;

    if (applier->dry_run) {
        if (daemon->ending == ENDING_ONCE && agent->estimator->destinations == 0)
            log_line(LOG_INFO, "no window: no connection that counts sends now");
        return status;
    }
    if (daemon->ending == ENDING_ONCE) {
        files_save(daemon, true);
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
    files_end(daemon, error.field ? r : 0, &error);
    return status;
}

/* Logs why there is no start. Returns the exit status. */
static int report_refusal(const struct settings *settings, struct riptide_error *error, int r)
{
    settings_explain_refusal(settings, error);
    if (r == -EPERM && !error->field && !settings->applier.dry_run &&
        !strstr(error->text, "CAP_BPF"))
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
        r = hints_add(daemon, &settings->overrides[i], error);
        error->index = (int64_t)i;
    }
    return r;
}

#define NET_ADMIN (UINT64_C(1) << CAP_NET_ADMIN)
/* Kernels before 5.19 require it for each window. Not in headers before 5.8. */
#define BPF (UINT64_C(1) << 39)

/*
 * Keeps the capabilities that windows need, where they are present, and can gain none again. Before
 * that, open all files that need root. Without libcap: two system calls suffice.
 */
static int drop_privileges(bool is_dry, enum riptide_backend backend, struct riptide_error *error)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    /* Initialised for valgrind, which does not see that the kernel fills both. */
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };
    const uint64_t kept = backend == RIPTIDE_ROUTES ? NET_ADMIN : NET_ADMIN | BPF;
    bool has_more = false;

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_capget, &header, data) < 0)
        return refuse(error, -errno, "cannot drop privileges: %s", strerror(errno));
    for (int i = 0; i < 2; i++) {
        const uint32_t half = is_dry ? 0 : data[i].permitted & (uint32_t)(kept >> 32 * i);

        has_more |= data[i].permitted != half;
        data[i] = (struct __user_cap_data_struct){ .permitted = half, .effective = half };
    }
    /* A service manager that granted no more may also forbid capset(2). */
    if (has_more && syscall(SYS_capset, &header, data) < 0)
        return refuse(error, -errno, "cannot drop capabilities: %s", strerror(errno));
    return 0;
}

/* From an agent to an exit status. */
static int serve(struct daemon *daemon)
{
    const char *pid = getenv("WATCHDOG_PID"), *watchdog_us = getenv("WATCHDOG_USEC");
    const int signals_fd = open_signals();
    const struct riptide_agent_stats *stats;
    struct riptide_error error = { .text = "" };
    int status, r = signals_fd < 0 ? -errno : control_check(daemon, &error);

    if (r == 0)
        r = riptide_agent_start(daemon->agent, &error);
    if (r < 0)
        return report_refusal(daemon->settings, &error, r);
    /* The watchdog may be for another process. */
    if (watchdog_us && (!pid || strtoll(pid, NULL, 10) == getpid()))
        daemon->watchdog_us = strtoull(watchdog_us, NULL, 10);
    daemon->health.started_ns = clock_read_ns(CLOCK_BOOTTIME);
    stats = riptide_agent_get_stats(daemon->agent);
    if (error.text[0])
        log_line(LOG_WARNING, "%s", error.text);
    else if (stats->state)
        log_line(LOG_INFO, "%s", stats->state);
    files_load(daemon);
    /* Then all files are open that need root. */
    control_open(daemon);
    if (drop_privileges(daemon->settings->applier.dry_run, stats->applier->backend, &error) < 0) {
        log_line(LOG_ERR, "%s", error.text);
        daemon->ending = ENDING_FAILED;
    } else {
        report_start(daemon);
    }
    run(daemon, signals_fd);
    notify("STOPPING=1");
    status = finish(daemon);
    control_close(daemon->control);
    close(signals_fd);
    return status;
}

int daemon_run(struct settings *settings)
{
    static struct daemon daemon; /* too large for a stack */
    struct riptide_error error = { .text = "" };
    int status = EXIT_SUCCESS, r;
    gid_t group;

    daemon.settings = settings;
    daemon.history.hours = json_array();
    log_set_level(settings->log_level);
    /* Making an agent checks everything and changes nothing. */
    r = make_agent(&daemon, &error);
    if (r == 0 && settings->check && strcmp(settings->control, "none"))
        r = control_find_group(settings->control_group, &group, &error);
    if (r != 0) {
        status = report_refusal(settings, &error, r);
    } else if (settings->check) {
        files_check(settings);
        printf("%s: valid\n", settings->file ? settings->file : "options, without a file");
    } else {
        status = serve(&daemon);
    }
    json_decref(daemon.history.hours);
    riptide_agent_free(daemon.agent);
    return status;
}
