/* SPDX-License-Identifier: MIT */
/* The life of the daemon, from settings to an exit status, and what it knows besides its agent. */
#ifndef CLI_DAEMON_H
#define CLI_DAEMON_H

#include "kernel.h"
#include "log.h"
#include "members.h"
#include "request.h"
#include "settings.h"
#include "text.h"

#include <poll.h>
#include <sys/types.h>

/* How the loop ended; this determines what stays in the kernel. */
enum ending {
    ENDING_NONE,
    ENDING_SIGNAL, /* SIGTERM, SIGINT or SIGHUP */
    ENDING_ONCE,   /* the only round is complete */
    ENDING_FAILED, /* the agent cannot go on, or the only round failed */
};

/* Counters every ten seconds, so that `status` has those of the last minute: a ring. */
enum { MINUTE_PARTS = 6 };
struct minute {
    struct riptide_program_counts then[MINUTE_PARTS];
    uint64_t noted_ns; /* the last one */
    unsigned int n;    /* noted so far */
};

/*
 * The latest changes of windows, newest first: as many of each destination as `riptide show DST`
 * has room for. A new destination takes the place of the one that came first.
 */
enum { CHANGES = 128, CHANGES_OF_ONE = 4 };
struct changes {
    struct destination_changes {
        struct change {
            time_t time; /* CLOCK_REALTIME; 0: none */
            struct riptide_route route;
        } latest[CHANGES_OF_ONE];
    } list[CHANGES];
    size_t n; /* destinations so far */
};

enum { HISTORY_HOURS = 48, HISTORY_COUNTERS = 7 };

struct history {
    json_t *hours;                       /* an array, oldest first, as files and answers have it */
    uint64_t noted_s;                    /* the last time, CLOCK_REALTIME; 0: none */
    uint64_t counters[HISTORY_COUNTERS]; /* then, as records.c names them; they only grow */
};

/* The state of the daemon, for `status`. */
struct health {
    struct minute minute;
    uint64_t started_ns;
    uint64_t n_ticks;
    struct riptide_tick tick;    /* the last one */
    uint64_t late_ns;            /* how long after its time it began */
    uint64_t suspended_until_ns; /* as the last tick saw it */
    uint64_t suspensions;        /* since the start */
    uint64_t paused_ns;          /* likewise: of rounds at whose end windows were paused */
    uint64_t suspended_ns;       /* or suspended */
    uint64_t overflow, unplaced; /* as the last tick saw it, and of its round */
    char failure[96];            /* of the last dump; empty: none */
    bool is_failure_new;         /* since the last tick */
    int program_error;           /* of its last window, -errno; 0: the kernel took that */
};

struct daemon {
    struct settings *settings;
    struct riptide_agent *agent;
    struct control *control; /* NULL: none */
    struct health health;
    struct changes changes;
    struct riptide_hint hints[RIPTIDE_MAX_HINTS]; /* those with an end */
    size_t n_hints;
    struct history history;
    enum ending ending;
    uint64_t watchdog_us;    /* the service manager's timeout; 0: none */
    uint64_t told_ns;        /* the last sign of life */
    bool is_ready;           /* and the manager was notified */
    uint64_t save_ns;        /* when it is due: at first at once, to report a wrong path early */
    char state_failure[256]; /* why, as logged; empty: it did not fail */
    char history_failure[256];
    uint64_t metrics_ns; /* when metrics are due */
    char metrics_failure[256];
    bool has_metrics; /* the file is there, and ours */
};

/*
 * Runs until a signal or a failure, or with --check not at all: what would refuse the settings is
 * called, so that no range is defined twice. Returns the exit status.
 */
int daemon_run(struct settings *settings);

/*
 * In control.c, before the start: removes a socket without a listener. -EBUSY, with a line: another
 * riptided answers there, whose state and metrics this one would write.
 */
int control_check(const struct daemon *daemon, struct riptide_error *error);

/* Listens where the settings say so; or logs why it cannot. */
void control_open(struct daemon *daemon);

/* Closes, and removes the socket file if its directory permits. */
void control_close(struct control *control);

/* The fds to wait on with poll(2), and its timeout; returns their number. */
enum { CONTROL_MAX_FDS = 65 };
unsigned int control_prepare(struct control *control, struct pollfd fds[CONTROL_MAX_FDS],
                             int *timeout_ms);

/* Pass what poll has filled: answers one client at most. */
void control_dispatch(struct control *control, const struct pollfd *fds, unsigned int n);

/* The number of a group, by name or number; -1 if `name` is NULL. -EINVAL, with a line. */
int control_find_group(const char *name, gid_t *gidp, struct riptide_error *error);

/* In report.c: the line of the start, and one for each event. */
void report_start(struct daemon *daemon);
void report_event(struct daemon *daemon, const struct riptide_agent_event *event);

/* In health.c: keeps what answers need of an event. */
void health_note(struct daemon *daemon, const struct riptide_agent_event *event);

/* How the daemon is: a word, what is missing of the configured (or empty), what to do (or NULL). */
struct diagnosis {
    const char *word, *remedy;
    struct riptide_error reason;
};
void health_diagnose(const struct daemon *daemon, struct diagnosis *diagnosis);

/* In answers.c: helps, harms, mixed or none. */
const char *answer_word(const struct riptide_verdict *verdict);

/*
 * How many destinations have such a route, where there is one that is not as it should be; `first`
 * is one of them, for a rule if there is one.
 */
uint64_t health_find_routes(const struct daemon *daemon, enum riptide_route_state state,
                            struct riptide_route *first);

/* Who has most of the destinations that there can be, or of one network. Returns `reason`. */
const char *health_explain_full(const struct daemon *daemon, char reason[256]);

/* Connections that opened since the start; by routes, as they closed. */
struct riptide_program_counts health_count_opened(const struct daemon *daemon);

/* Time until windows are tried again; 0: they are given. */
double health_suspended_s(const struct daemon *daemon);

/* In records.c: keeps a change at that time; and lists those of a destination. */
void changes_note(struct changes *changes, const struct riptide_route *route, time_t now);
json_t *changes_json(struct changes *changes, const struct riptide_prefix *dst);

/* Notes counters; and what they have grown by in the last 50 to 60 seconds. */
void minute_note(struct minute *minute, const struct riptide_program_counts *now, uint64_t now_ns);
json_t *minute_json(const struct minute *minute, const struct riptide_program_counts *now);

/* Adds what was counted since the last call; the first notes it. `verdict` NULL: none yet. */
void history_note(struct history *history, uint64_t realtime_s,
                  const uint64_t counters[HISTORY_COUNTERS], const struct riptide_verdict *verdict);

/* In destinations.c, "left alone: REASON": what has become of a destination by one backend. */
void destinations_describe(const struct riptide_route *route, char text[256]);

/* In metrics.c: Prometheus text of now, which the caller frees; NULL: no memory. */
char *metrics_text(struct daemon *daemon);

/* In hints.c: lists the agent's hints with an end. */
void hints_read(struct daemon *daemon);

/* Gives a hint, or a section, to the agent. -EINVAL, with a line: it could have no effect. */
int hints_add(struct daemon *daemon, const struct riptide_hint *hint, struct riptide_error *error);

/* Drops those that have ended. Returns how many are in force. */
size_t hints_count(struct daemon *daemon);

/* The hint with an end for exactly that prefix; NULL: none is in force. */
const struct riptide_hint *hints_find(struct daemon *daemon, const struct riptide_prefix *dst);

/* In files.c: after the start, what the state has restored: hints, and the history beside it. */
void files_load(struct daemon *daemon);

/* Warns of what the settings name and is not there, and the daemon goes on without. */
void files_check(const struct settings *settings);

/* Whether a state file keeps hints and a pause over a restart. */
bool files_keep_state(const struct daemon *daemon);

/* After a round: saves state, history and metrics if they are due. */
void files_tick(struct daemon *daemon, const struct riptide_tick *tick);

/* Counts what has happened so far for the hour. */
void files_note_hour(struct daemon *daemon);

/* Saves the state; with `is_synced` waits for the disk. */
void files_save(struct daemon *daemon, bool is_synced);

/* At the end: `r` is the agent's result for the state. Removes the metrics. */
void files_end(struct daemon *daemon, int r, struct riptide_error *error);

#endif
