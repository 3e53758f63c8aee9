/* SPDX-License-Identifier: MIT */
/*
 * The processes of --all-netns: see daemon.h. Each is small and has one thread, so that a failure
 * affects one namespace only, and all end with the first one.
 */
#include "daemon.h"

#include "clock.h"
#include "lib/connections/connections.h"
#include "lib/tools.h"
#include "log.h"
#include "netns.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
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

#define NS_PER_MS UINT64_C(1000000)

/* Between two scans, and until all have begun; a scan takes at most a fiftieth of a core. */
#define SCAN_NS       (2 * NS_PER_S)
#define FIRST_SCAN_NS (100 * NS_PER_MS)
enum { SCAN_SHARE = 50 };

/* A worker without a round for that long, beyond its interval, in that many scans, is killed. */
#define STUCK_NS (10 * NS_PER_S)
enum { STUCK_SCANS = 3 };

/* Restarted after 1 s, 2 s, 4 s and so on; after running for a while, after 1 s again. */
#define WELL_NS (60 * NS_PER_S)
enum { MOST_DOUBLINGS = 8 };

/* Time from SIGTERM until workers are killed. */
#define END_NS (10 * NS_PER_S)

enum { STATE_UNUSED_S = 600 };

/* A process may end during a scan: a namespace is gone after two scans without any. */
enum { MOST_WORKERS = 1024, GONE_SCANS = 2 };

struct worker {
    ino_t netns;   /* its inode; 0: unused entry */
    pid_t process; /* a process in it */
    char *cgroup;  /* of the first one */
    pid_t pid;     /* 0: not running */
    bool is_told;  /* was sent SIGTERM */
    unsigned int n_unseen, n_stuck, n_failures;
    uint64_t begun_ns, retry_ns;
};

/* Each worker writes its own beat; nothing here depends on what workers read. */
struct shared {
    uint32_t n_sharing;
    struct beat beats[MOST_WORKERS];
};

struct workers {
    struct daemon daemon; /* its agent keeps the program, and never starts */
    const char *root;     /* the cgroup */
    ino_t home;           /* our own namespace */
    struct shared *shared;
    uint32_t n_running;
    struct worker list[MOST_WORKERS];
    size_t n, last; /* entries in use, and the last one found */
    uint64_t next_ns;
    bool are_ready;            /* each has had a round, or failed */
    bool are_full, are_hidden; /* and this was logged */
    const char *reason;        /* likewise: why the program gives no windows */
    struct riptide_error why_none; /* the answer for namespaces without a worker */
    bool is_child;
    bool has_failed; /* a worker of --once */
};

static uint64_t now(void)
{
    return clock_read_ns(CLOCK_MONOTONIC);
}

static void *make_shared(size_t bytes)
{
    void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return shared == MAP_FAILED ? NULL : shared;
}

static void count_running(struct workers *workers, int more)
{
    workers->n_running += (uint32_t)more;
    workers->shared->n_sharing = workers->n_running;
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
    /* Users who make cgroups choose the names, and must not inject lines into our log. */
    for (char *c = worker->cgroup; c && *c; c++)
        *c = iscntrl((unsigned char)*c) ? '?' : *c;
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

static void remove_file(const char *path, uint64_t cookie)
{
    char *own = path && strcmp(path, "none") ? netns_path(path, cookie) : NULL;

    if (own)
        unlink(own);
    free(own);
}

/*
 * A worker has ended: removes its windows and files. If it had no round, another riptided manages
 * the namespace, and the files are its own.
 */
static void clear(struct workers *workers, const struct worker *worker, bool is_gone)
{
    const struct settings *settings = workers->daemon.settings;
    const struct beat *beat = &workers->shared->beats[worker - workers->list];

    connections_forget_netns(riptide_agent_get_connections(workers->daemon.agent), beat->cookie);
    if (settings->router.dry_run || beat->interval_ns == 0)
        return;
    remove_file(settings->control, beat->cookie);
    remove_file(settings->metrics, beat->cookie);
    if (is_gone)
        remove_file(settings->state, beat->cookie);
}

static void free_place(struct workers *workers, struct worker *worker)
{
    free(worker->cgroup);
    *worker = (struct worker){ .netns = 0 };
    workers->shared->beats[worker - workers->list] = (struct beat){ 0 };
}

static void on_end(struct workers *workers, struct worker *worker, int status)
{
    uint64_t cookie = workers->shared->beats[worker - workers->list].cookie;
    bool is_gone = worker->n_unseen >= GONE_SCANS;
    unsigned int delay_s;

    worker->pid = 0;
    count_running(workers, -1);
    clear(workers, worker, is_gone);
    if (worker->is_told) {
        if (is_gone)
            log_line(LOG_LEVEL_INFO, "network namespace %" PRIu64 " is gone: no process below %s",
                     cookie, workers->root);
        free_place(workers, worker);
        return;
    }
    /* The process had ended before its namespace could be entered. */
    if (!cookie && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS)
        return;
    if (workers->daemon.settings->once) {
        worker->retry_ns = UINT64_MAX;
        workers->has_failed |= status != 0;
        return;
    }
    if (now() - worker->begun_ns > WELL_NS)
        worker->n_failures = 0;
    delay_s = 1u << worker->n_failures;
    if (worker->n_failures < MOST_DOUBLINGS)
        worker->n_failures++;
    worker->retry_ns = now() + delay_s * NS_PER_S;
    log_line(LOG_LEVEL_ERROR,
             "network namespace %" PRIu64 ", cgroup %s: its worker ended with %s %d; it begins "
             "again after %u s",
             cookie, worker->cgroup, WIFSIGNALED(status) ? "signal" : "status",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), delay_s);
}

static void reap(struct workers *workers)
{
    pid_t pid;
    int status;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        for (size_t i = 0; i < workers->n; i++) {
            if (workers->list[i].netns && workers->list[i].pid == pid)
                on_end(workers, &workers->list[i], status);
        }
    }
}

static void tell(struct worker *worker, int number)
{
    kill(worker->pid, number);
    worker->is_told |= number == SIGTERM;
}

/* The process may be another one by now, in another namespace. -ESRCH, -ENOENT: it has ended. */
static int enter(const struct worker *worker)
{
    char path[48];
    int fd, r = 0;

    snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)worker->process);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET) < 0)
        r = -errno;
    else if (scan_process(getpid()) != worker->netns)
        r = -ESRCH;
    if (fd >= 0)
        close(fd);
    if (r < 0 && r != -ESRCH && r != -ENOENT)
        log_line(LOG_LEVEL_ERROR, "%s: %s", path,
                 r == -EPERM || r == -EACCES ? "needs CAP_SYS_ADMIN and CAP_SYS_PTRACE"
                                             : strerror(-r));
    return r;
}

/* The child: an ordinary riptided from here on. */
static int work(struct workers *workers, const struct worker *worker, struct beat *beat)
{
    struct settings *settings = workers->daemon.settings;
    struct served served = {
        .is_home = worker->netns == workers->home,
        .cgroup = worker->cgroup,
        .n_sharing = &workers->shared->n_sharing,
    };
    int r;

    workers->is_child = true;
    close(workers->daemon.signals_fd);
    workers->daemon.control = control_close(workers->daemon.control);
    service_close(&workers->daemon.service);
    unsetenv("NOTIFY_SOCKET");
    if (!served.is_home && (r = enter(worker)) < 0)
        return r == -ESRCH || r == -ENOENT ? EXIT_SUCCESS : EXIT_FAILURE;
    if (riptide_netns_get_cookie(&served.cookie) < 0 || settings_serve(settings, &served) < 0) {
        log_line(LOG_LEVEL_ERROR, "cannot start: %s", strerror(errno));
        return EXIT_FAILURE;
    }
    beat->cookie = served.cookie;
    log_set_netns(served.cookie);
    settings->agent.program_of = workers->daemon.agent;
    log_line(LOG_LEVEL_INFO, "network namespace of process %d, cgroup %s, net:[%ju]",
             (int)worker->process, worker->cgroup, (uintmax_t)worker->netns);
    return daemon_serve(settings, beat);
}

/* In the child it returns the exit status of all; in the parent 0. */
static int begin(struct workers *workers, struct worker *worker)
{
    struct beat *beat = &workers->shared->beats[worker - workers->list];
    pid_t parent = getpid();

    worker->begun_ns = now();
    worker->n_stuck = 0;
    *beat = (struct beat){ .parent = parent, .round_ns = worker->begun_ns };
    count_running(workers, 1);
    worker->pid = fork();
    if (worker->pid == 0)
        return work(workers, worker, beat);
    if (worker->pid < 0) {
        log_line(LOG_LEVEL_ERROR, "fork: %s", strerror(errno));
        worker->pid = 0;
        count_running(workers, -1);
        worker->retry_ns = worker->begun_ns + (UINT64_C(1) << MOST_DOUBLINGS) * NS_PER_S;
    }
    return 0;
}

/* The clock may have continued while the machine was suspended: one check is no proof. */
static void check_beat(struct workers *workers, struct worker *worker)
{
    const struct beat *beat = &workers->shared->beats[worker - workers->list];
    uint64_t silent_ns = now() - beat->round_ns;

    if (silent_ns < beat->interval_ns + STUCK_NS)
        worker->n_stuck = 0;
    else if (++worker->n_stuck == STUCK_SCANS) {
        log_line(LOG_LEVEL_ERROR,
                 "network namespace %" PRIu64 ": process %d had no round for %.0f s and is killed",
                 beat->cookie, (int)worker->pid, (double)silent_ns / NS_PER_S);
        kill(worker->pid, SIGKILL);
    }
}

/* If its namespace has no processes left, its worker ends; else it runs, or soon will again. */
static int follow(struct workers *workers, struct worker *worker)
{
    if (worker->pid > 0) {
        if (worker->n_unseen >= GONE_SCANS && !worker->is_told)
            tell(worker, SIGTERM);
        check_beat(workers, worker);
        return 0;
    }
    if (worker->n_unseen >= GONE_SCANS) {
        clear(workers, worker, true);
        free_place(workers, worker);
        return 0;
    }
    return worker->n_unseen == 0 && now() >= worker->retry_ns ? begin(workers, worker) : 0;
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

    if (!settings->state || settings->router.dry_run)
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

/* READY after the first round of each; watchdog messages while this runs, at such intervals. */
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
            status = follow(workers, &workers->list[i]);
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
            log_line(LOG_LEVEL_INFO, "%s: ending",
                     info.ssi_signo == SIGINT ? "SIGINT" : "SIGTERM");
            service_stopping(&daemon->service);
            daemon->ending = ENDING_SIGNAL;
            workers->next_ns = now() + END_NS;
        }
    }
    for (size_t i = 0; i < workers->n && number; i++) {
        if (workers->list[i].pid > 0)
            tell(&workers->list[i], number);
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
