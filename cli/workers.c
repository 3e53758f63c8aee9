/* SPDX-License-Identifier: MIT */
/*
 * The parent of the workers of --all-netns: see daemon.h. Each worker is small and has one thread,
 * so that a failure affects one namespace only, and all end with the first one.
 */
#include "workers.h"

#include "lib/connections/connections.h"
#include "lib/tools.h"
#include "log.h"
#include "netns.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Between two scans, and until all have begun; a scan takes at most a fiftieth of a core. */
#define SCAN_NS       (2 * NS_PER_S)
#define FIRST_SCAN_NS (100 * NS_PER_MS)
enum { SCAN_SHARE = 50 };

/* Time from SIGTERM until workers are killed. */
#define END_NS (10 * NS_PER_S)

enum { STATE_UNUSED_S = 600 };

static void *make_shared(size_t bytes)
{
    void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return shared == MAP_FAILED ? NULL : shared;
}

static struct worker *find(struct workers *workers, ino_t netns)
{
    if (workers->last < workers->n && workers->list[workers->last].netns == netns)
        return &workers->list[workers->last];
    for (size_t i = 0; i < workers->n; i++) {
        if (workers->list[i].netns == netns) {
            workers->last = i;
            return &workers->list[i];
        }
    }
    return NULL;
}

static struct worker *add(struct workers *workers, ino_t netns, const char *cgroup)
{
    struct worker *worker = find(workers, 0);

    if (!worker && workers->n < MOST_WORKERS)
        worker = &workers->list[workers->n++];
    if (!worker) {
        if (!workers->are_full)
            log_line(LOG_LEVEL_WARNING,
                     "more than %d network namespaces below %s: the others are not served",
                     MOST_WORKERS, workers->root);
        workers->are_full = true;
        return NULL;
    }
    *worker = (struct worker){ .netns = netns, .cgroup = strdup(*cgroup ? cgroup : "/") };
    /* Users who make cgroups choose the names, and must not control our log or a terminal. */
    for (char *c = worker->cgroup; c && *c; c++)
        *c = *c < ' ' || *c > '~' ? '?' : *c;
    return worker;
}

static void on_found(void *userdata, pid_t pid, ino_t netns, const char *cgroup)
{
    struct workers *workers = userdata;
    struct worker *worker = find(workers, netns);

    if (!worker)
        worker = add(workers, netns, cgroup);
    /* The worker itself does not keep its namespace. */
    if (worker && pid != worker->pid) {
        worker->process = pid;
        worker->n_unseen = 0;
    }
}

static void reap(struct workers *workers)
{
    pid_t pid;
    int status;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        for (size_t i = 0; i < workers->n; i++) {
            if (workers->list[i].netns && workers->list[i].pid == pid)
                worker_on_end(workers, &workers->list[i], status);
        }
    }
}

static bool has_begun(const struct workers *workers, size_t i)
{
    return workers->list[i].netns == 0 || workers->list[i].n_failures > 0 ||
           workers->shared->beats[i].interval_ns > 0;
}

/*
 * At the start removes states of an earlier boot, whose numbers are reused by now; once all have
 * begun, those of namespaces that ended meanwhile, as no process updates them each minute.
 */
static void sweep_states(const struct workers *workers, bool is_start)
{
    const struct settings *settings = workers->daemon.settings;
    time_t boot = time(NULL) - (time_t)(clock_read_ns(CLOCK_BOOTTIME) / NS_PER_S);
    time_t limit = is_start ? boot : time(NULL) - STATE_UNUSED_S;
    uint64_t *cookies;
    size_t n;

    if (!settings->state || !strcmp(settings->state, "none") || settings->router.dry_run)
        return;
    n = netns_find(settings->state, &cookies);
    for (size_t i = 0; i < n; i++) {
        char *path = netns_path(settings->state, cookies[i]);
        struct stat file;
        bool is_old = path && stat(path, &file) == 0 && file.st_mtime < limit;

        for (size_t j = 0; j < workers->n; j++)
            is_old &= workers->shared->beats[j].cookie != cookies[i];
        if (is_old)
            unlink(path);
        free(path);
    }
    free(cookies);
}

static void check_program(struct workers *workers)
{
    struct connections *connections = riptide_agent_get_connections(workers->daemon.agent);
    const char *reason;

    connections_check(connections);
    reason = connections_get_reason(connections);
    if (reason && !workers->reason)
        log_line(LOG_LEVEL_WARNING, "windows per connection: disabled: %s", reason);
    else if (!reason && workers->reason)
        log_line(LOG_LEVEL_INFO, "windows per connection: enabled again");
    workers->reason = reason;
    snprintf(workers->why_none.text, sizeof(workers->why_none.text),
             "riptided does not serve this network namespace: %s",
             reason ? reason
                    : "it has no process below --cgroup (`riptide netns` lists those that it "
                      "serves)");
}

/* Reports READY after the first round of each worker; then keeps the watchdog quiet. */
static void say_alive(struct workers *workers, uint64_t interval_ns)
{
    const struct riptide_tick tick = { .interval_ns = interval_ns };
    const struct riptide_agent_event event = { .kind = RIPTIDE_AGENT_TICK, .tick = &tick };
    struct service *service = &workers->daemon.service;
    bool was_ready = workers->are_ready;

    workers->are_ready = true;
    for (size_t i = 0; i < workers->n && !was_ready; i++)
        workers->are_ready &= has_begun(workers, i);
    if (workers->are_ready)
        service_event(service, &event);
    if (workers->are_ready && !was_ready)
        sweep_states(workers, false);
}

static int scan(struct workers *workers)
{
    uint64_t begun_ns = now(), took_ns, interval_ns;
    unsigned int n_hidden;
    int status = 0;

    for (size_t i = 0; i < workers->n; i++)
        workers->list[i].n_unseen++;
    n_hidden = scan_cgroup(workers->root, on_found, workers);
    if (n_hidden > 0 && !workers->are_hidden)
        log_line(LOG_LEVEL_WARNING,
                 "%u processes below %s do not show their network namespace: needs CAP_SYS_PTRACE",
                 n_hidden, workers->root);
    workers->are_hidden = n_hidden > 0;
    took_ns = now() - begun_ns;
    for (size_t i = 0; i < workers->n && !workers->is_child; i++) {
        if (workers->list[i].netns)
            status = worker_follow(workers, &workers->list[i]);
    }
    if (workers->is_child)
        return status;
    check_program(workers);
    interval_ns = workers->are_ready ? SCAN_NS : FIRST_SCAN_NS;
    if (interval_ns < took_ns * SCAN_SHARE)
        interval_ns = took_ns * SCAN_SHARE;
    say_alive(workers, interval_ns);
    workers->next_ns = now() + interval_ns;
    return 0;
}

static void on_signals(struct workers *workers)
{
    struct daemon *daemon = &workers->daemon;
    struct signalfd_siginfo info;
    int number = 0;

    while (read(daemon->signals_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGHUP && reload(daemon))
            number = SIGHUP;
        if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT)
            number = SIGTERM;
        if (number == SIGTERM && daemon->ending == ENDING_NONE) {
            log_line(LOG_LEVEL_INFO, "%s: ending", info.ssi_signo == SIGINT ? "SIGINT" : "SIGTERM");
            service_stopping(&daemon->service);
            daemon->ending = ENDING_SIGNAL;
            workers->next_ns = now() + END_NS;
        }
    }
    for (size_t i = 0; i < workers->n && number; i++) {
        if (workers->list[i].pid > 0)
            worker_tell(&workers->list[i], number);
    }
    reap(workers);
}

/* With --once: each found worker has had its round, or failed. */
static bool is_over(const struct workers *workers)
{
    return workers->daemon.settings->once && workers->next_ns > 0 && workers->n_running == 0;
}

static int run(struct workers *workers)
{
    struct daemon *daemon = &workers->daemon;
    struct pollfd fds[2 + CONTROL_MAX_FDS] = { { .fd = daemon->signals_fd, .events = POLLIN },
                                               { .fd = daemon->service.timer_fd,
                                                 .events = POLLIN } };
    int status = 0;

    while ((daemon->ending == ENDING_NONE && !is_over(workers)) || workers->n_running > 0) {
        uint64_t now_ns = now();
        uint64_t wait_ns = workers->next_ns > now_ns ? workers->next_ns - now_ns : 0;
        unsigned int n_control;
        int wait_ms;

        if (wait_ns == 0 && daemon->ending == ENDING_NONE) {
            status = scan(workers);
            if (workers->is_child)
                return status;
            continue;
        }
        if (wait_ns == 0) {
            for (size_t i = 0; i < workers->n; i++) {
                if (workers->list[i].pid > 0)
                    kill(workers->list[i].pid, SIGKILL);
            }
            workers->next_ns = now_ns + END_NS;
            continue;
        }
        n_control = control_prepare(daemon->control, fds + 2);
        wait_ms = control_get_timeout(daemon->control);
        if (wait_ms < 0 || wait_ns < (uint64_t)wait_ms * NS_PER_MS)
            wait_ms = (int)(wait_ns / NS_PER_MS) + 1;
        if (poll(fds, 2 + n_control, wait_ms) < 0) {
            if (errno == EINTR)
                continue;
            return EXIT_FAILURE;
        }
        if (fds[0].revents)
            on_signals(workers);
        if (fds[1].revents)
            service_pet(&daemon->service);
        if (n_control > 0)
            control_dispatch(daemon->control, fds + 2, n_control);
    }
    log_line(LOG_LEVEL_INFO, "all workers have ended");
    return workers->has_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int open_all(struct workers *workers, struct riptide_error *error)
{
    struct daemon *daemon = &workers->daemon;
    struct privileges privileges;
    int r = privileges_find(&privileges, daemon->settings->user, error);

    if (r == 0)
        r = riptide_agent_new(&daemon->agent, &daemon->settings->agent, error);
    if (r == 0)
        r = connections_keep(riptide_agent_get_connections(daemon->agent), error);
    if (r == 0)
        r = daemon_open_signals(daemon);
    if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        r = -errno;
    if (r == 0 && !(workers->shared = make_shared(sizeof(*workers->shared))))
        r = -ENOMEM;
    if (r == 0)
        daemon_open_control(daemon, &privileges);
    if (daemon->control)
        control_serve_none(daemon->control, workers->why_none.text);
    return r;
}

int workers_serve(struct settings *settings)
{
    struct workers *workers = calloc(1, sizeof(*workers));
    struct riptide_error error = { .text = "" };
    int r, status;

    if (!workers)
        return daemon_refuse(settings, &error, -ENOMEM);
    log_set_level(settings->log_level);
    log_limit_repeats();
    workers->daemon.settings = settings;
    workers->daemon.metrics.settings = settings;
    workers->daemon.signals_fd = -1;
    r = open_all(workers, &error);
    if (r < 0) {
        status = daemon_refuse(settings, &error, r);
    } else {
        service_open(&workers->daemon.service);
        workers->root =
            connections_get_cgroup(riptide_agent_get_connections(workers->daemon.agent));
        workers->home = scan_process(getpid());
        sweep_states(workers, true);
        report_start(settings, workers->daemon.agent);
        status = run(workers);
        if (!workers->is_child)
            service_close(&workers->daemon.service);
    }
    control_close(workers->daemon.control);
    riptide_agent_free(workers->daemon.agent);
    for (size_t i = 0; i < workers->n; i++)
        free(workers->list[i].cgroup);
    free(workers);
    return status;
}
