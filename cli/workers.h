/* SPDX-License-Identifier: MIT */
/* The worker processes of --all-netns, for workers.c, which finds and ends them, and worker.c. */
#ifndef RIPTIDE_CLI_WORKERS_H
#define RIPTIDE_CLI_WORKERS_H

#include "clock.h"
#include "daemon.h"

#define NS_PER_MS UINT64_C(1000000)

/* A process may end during a scan: a namespace is gone after two scans without any. */
enum { MOST_WORKERS = 1024, GONE_SCANS = 2 };

struct worker {
    ino_t netns;   /* its inode; 0: unused entry */
    pid_t process; /* a process in it */
    char *cgroup;  /* of the process by which the namespace was found */
    pid_t pid;     /* 0: not running */
    bool is_told;  /* was sent SIGTERM */
    unsigned int n_unseen, n_stuck, n_failures;
    uint64_t begun_ns, retry_ns;
};

/* Each worker writes its own beat; only workers read n_sharing, which the parent writes. */
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
    bool are_ready;                /* each has had a round, or failed */
    bool are_full, are_hidden;     /* workers or processes are, and this was logged */
    const char *reason;            /* why the program gives no windows, as last logged */
    struct riptide_error why_none; /* the answer for namespaces without a worker */
    bool is_child;
    bool has_failed; /* a worker of --once */
};

static inline uint64_t now(void)
{
    return clock_read_ns(CLOCK_MONOTONIC);
}

static inline struct beat *beat_of(struct workers *workers, const struct worker *worker)
{
    return &workers->shared->beats[worker - workers->list];
}

/*
 * After a scan. If its namespace has no processes left, its worker ends; else it runs, or soon will
 * again. In the child the exit status of all; in the parent 0.
 */
int worker_follow(struct workers *workers, struct worker *worker);

/* Sends a signal. */
void worker_tell(struct worker *worker, int number);

/* Its process has ended, with that status of waitpid(2): whether and when it begins again. */
void worker_on_end(struct workers *workers, struct worker *worker, int status);

#endif
