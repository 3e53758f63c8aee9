/* SPDX-License-Identifier: MIT */
/*
 * The daemon's life, from settings to an exit status.
 */
#ifndef CLI_DAEMON_H
#define CLI_DAEMON_H

#include "control.h"
#include "metrics.h"
#include "privileges.h"
#include "service.h"
#include "settings.h"

/* How the loop ended; what is left in the kernel depends on it. */
enum ending {
    ENDING_NONE,
    ENDING_SIGNAL, /* SIGTERM or SIGINT */
    ENDING_ONCE,   /* the only round is complete */
    ENDING_GONE,   /* the network namespace was given up */
    ENDING_FAILED, /* the agent cannot go on, or the only round failed */
};

/* How it has been, for those who ask. */
struct health {
    uint64_t started_ns;
    uint64_t n_ticks;
    struct riptide_tick tick; /* the last one */
    uint64_t late_max_ns;     /* of all */
    uint64_t cpu_ns;          /* of the process at the last tick */
    uint64_t round_cpu_ns;    /* between the last two */
    int failure;              /* -errno of the last dump; 0: none */
    bool is_failure_new;      /* since the last tick */
};

/* Of a worker: its parent reads it. */
struct beat {
    pid_t parent;
    uint64_t cookie;   /* of its network namespace; 0: not there yet */
    uint64_t round_ns; /* the last one; CLOCK_MONOTONIC */
    uint64_t interval_ns;
};

struct daemon {
    struct settings *settings;
    struct riptide_agent *agent;
    struct control *control; /* NULL: none */
    struct health health;
    bool is_paused;
    struct service service;
    int signals_fd;
    enum ending ending;
    uint64_t saved_ns;     /* when the state was last kept, or tried to be; 0: not yet */
    bool is_state_failing; /* and the log has said so */
    struct metrics_file metrics;
    struct beat *beat; /* NULL: no worker */
};

/*
 * Whether riptided can run with these settings: asks those who would refuse, so that no range is
 * written down twice, and tells the first value that is refused. Returns the exit status.
 */
int daemon_check(struct settings *settings);

/* Runs until a signal or a failure ends it. `beat`: of a worker, or NULL. Returns the exit status. */
int daemon_serve(struct settings *settings, struct beat *beat);

/* Blocked, they wait in the fd, also those that arrive before the loop begins. Errors: -errno. */
int daemon_open_signals(struct daemon *daemon);

/* Without it, and with a line, the daemon does its work all the same. */
void daemon_open_control(struct daemon *daemon, const struct privileges *privileges);

/* The line of why there is no start. Returns the exit status. */
int daemon_refuse(const struct settings *settings, struct riptide_error *error, int r);

/* SIGHUP: takes over all of the file, or nothing (false), and says so in a line. */
bool reload(struct daemon *daemon);

/*
 * --all-netns: a process that serves no connection itself. It keeps the program per connection,
 * looks which network namespaces the processes below --cgroup have, and has for each a worker: a
 * child, which is an ordinary riptided in that namespace with sockets and files of its own. One that
 * ends is begun again; one whose namespace nobody has any more is ended. Runs until a signal or a
 * failure ends it, in each of these processes. Returns the exit status.
 */
int workers_serve(struct settings *settings);

/* The log: the settings in effect, and what about this host makes them less than they could be. */
void report_start(const struct settings *settings, const struct riptide_agent *agent);

/* What a line of settings ends with where they hold out connections, and none is; else empty. */
const char *report_left_out(const struct settings *settings, const struct riptide_agent *agent);

void report_event(const struct settings *settings, const struct riptide_agent *agent,
                  const struct riptide_agent_event *event, bool is_paused);

/* Notes what an event says about how the daemon is. */
void answers_note(struct daemon *daemon, const struct riptide_agent_event *event);

/* Before the agent starts. A file that is refused, or not there yet, is an empty start. */
void state_load(const struct daemon *daemon);

/*
 * What one that was killed as it wrote left beside state and metrics, by the names of
 * riptide_file_write. Once the namespace is ours, so that nobody is at it.
 */
void state_remove_left(const struct daemon *daemon);

/* Says once where it fails, and once where it works again. `is_synced`: waits for the disk. */
void state_save(struct daemon *daemon, bool is_synced);

/* After a round: saves now and then, the first time at once, so that a wrong place is noticed. */
void state_tick(struct daemon *daemon, const struct riptide_tick *tick);

#endif
