/* SPDX-License-Identifier: MIT */
/* The life of the daemon, from settings to an exit status. */
#ifndef CLI_DAEMON_H
#define CLI_DAEMON_H

#include "control.h"
#include "metrics.h"
#include "privileges.h"
#include "service.h"
#include "settings.h"

/* How the loop ended; this determines what stays in the kernel. */
enum ending {
    ENDING_NONE,
    ENDING_SIGNAL, /* SIGTERM, SIGINT or SIGHUP */
    ENDING_ONCE,   /* the only round is complete */
    ENDING_FAILED, /* the agent cannot go on, or the only round failed */
};

/* The program's counters every ten seconds, so that `status` has those of the last minute. */
enum { MINUTE_PARTS = 6 };
struct minute {
    struct riptide_program_counts then[MINUTE_PARTS]; /* a ring */
    uint64_t noted_ns[MINUTE_PARTS];
    unsigned int n; /* noted so far */
};

/* The state of the daemon, for `status`. */
struct health {
    struct minute minute;
    uint64_t started_ns;
    uint64_t n_ticks;
    struct riptide_tick tick; /* the last one */
    uint64_t late_ns, late_max_ns; /* how long after its time it began; and the most so far */
    uint64_t cpu_ns;          /* of the process at the last tick */
    uint64_t round_cpu_ns;    /* between the last two */
    char failure[96];         /* of the last dump; empty: none */
    bool is_failure_new;      /* since the last tick */
};

struct daemon {
    struct settings *settings;
    struct riptide_agent *agent;
    struct control *control; /* NULL: none */
    struct health health;
    struct service service;
    int signals_fd;
    enum ending ending;
    uint64_t saved_ns;     /* when the state was last saved, or the attempt failed; 0: not yet */
    bool is_state_failing; /* and this was logged */
    struct metrics_file metrics;
};

/*
 * Whether riptided can run with these settings: the modules that would refuse them are called, so
 * that no range is defined twice; reports the first refused value. Returns the exit status.
 */
int daemon_check(struct settings *settings);

/* Runs until a signal or a failure. Returns the exit status. */
int daemon_serve(struct settings *settings);

/* Logs the settings in effect, and conditions of this host that limit them. */
void report_start(const struct settings *settings);

void report_event(const struct settings *settings, struct riptide_agent *agent,
                  const struct riptide_agent_event *event);

/* Records the effect of an event on the daemon's state. */
void answers_note(struct daemon *daemon, const struct riptide_agent_event *event);

/* Logs what the start has loaded; `said`: the line of the start. */
void state_report(const struct daemon *daemon, const char *said);

/* Saves the state; `is_synced`: waits for the disk. */
void state_save(struct daemon *daemon, bool is_synced);

/* Logs once that it was not saved, and once that it is again. */
void state_note_saved(struct daemon *daemon, int r, const struct riptide_error *error);

/* With the next round: what has changed must outlive a crash. */
void state_save_soon(struct daemon *daemon);

/* After a round: saves now and then, the first time at once, to report a wrong path early. */
void state_tick(struct daemon *daemon, const struct riptide_tick *tick);

#endif
