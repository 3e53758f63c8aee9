/* SPDX-License-Identifier: MIT */
/* One worker process of --all-netns, from its namespace to its end; see daemon.h. */
#include "workers.h"

#include "lib/connections/connections.h"
#include "lib/tools.h"
#include "log.h"
#include "netns.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A worker without a round for that long, beyond its interval, in that many scans, is killed. */
#define STUCK_NS (10 * NS_PER_S)
enum { STUCK_SCANS = 3 };

/* For the first round, as many workers begin at once, and its interval is not yet known. */
#define FIRST_ROUND_NS (60 * NS_PER_S)

/* Restarted after 1 s, 2 s, 4 s and so on; after running for a while, after 1 s again. */
#define WELL_NS (60 * NS_PER_S)
enum { MOST_DOUBLINGS = 8 };

static void count_running(struct workers *workers, int more)
{
    workers->n_running += (uint32_t)more;
    workers->shared->n_sharing = workers->n_running;
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
    const struct beat *beat = beat_of(workers, worker);

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
    *beat_of(workers, worker) = (struct beat){ 0 };
}

void worker_on_end(struct workers *workers, struct worker *worker, int status)
{
    uint64_t cookie = beat_of(workers, worker)->cookie;
    bool was_well = beat_of(workers, worker)->interval_ns > 0;
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
    if (was_well && now() - worker->begun_ns > WELL_NS)
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

void worker_tell(struct worker *worker, int number)
{
    kill(worker->pid, number);
    worker->is_told |= number == SIGTERM;
}

/* -ESRCH, -ENOENT: the process has ended; its pid may belong to one of another namespace by now. */
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
    struct beat *beat = beat_of(workers, worker);
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
    const struct beat *beat = beat_of(workers, worker);
    uint64_t silent_ns = now() - beat->round_ns;
    uint64_t most_ns = beat->interval_ns > 0 ? beat->interval_ns + STUCK_NS : FIRST_ROUND_NS;

    if (silent_ns < most_ns)
        worker->n_stuck = 0;
    else if (++worker->n_stuck == STUCK_SCANS) {
        log_line(LOG_LEVEL_ERROR,
                 "network namespace %" PRIu64 ": process %d had no round for %.0f s and is killed",
                 beat->cookie, (int)worker->pid, (double)silent_ns / NS_PER_S);
        kill(worker->pid, SIGKILL);
    }
}

int worker_follow(struct workers *workers, struct worker *worker)
{
    if (worker->pid > 0) {
        if (worker->n_unseen >= GONE_SCANS && !worker->is_told)
            worker_tell(worker, SIGTERM);
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
