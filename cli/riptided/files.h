/* SPDX-License-Identifier: MIT */
/*
 * When state, history and metrics are written, and the log lines about them. A failure does not
 * stop the daemon: it is logged once, and once that it is over.
 */
#ifndef CLI_FILES_H
#define CLI_FILES_H

#include "health.h"

enum { FILES_FAILURE_BYTES = 256 };

struct files {
    const struct settings *settings;
    struct riptide_agent *agent;
    struct health *health;
    struct history history;
    uint64_t save_ns;                        /* when the state is due; at first at once, so that
                                                a wrong path is reported early */
    char state_failure[FILES_FAILURE_BYTES]; /* why, as logged; empty: it did not fail */
    char history_failure[FILES_FAILURE_BYTES];
    uint64_t metrics_ns; /* when metrics are due */
    char metrics_failure[FILES_FAILURE_BYTES];
    bool has_metrics; /* the file is there, and ours */
};

/* After the start: reads the history, which is beside the state. */
void files_load(struct files *files);

/* Warns of what the settings name and is not there; the daemon goes on without. */
void files_check(const struct settings *settings);

/* Whether a state file keeps hints and a pause over a restart. */
bool files_keep_state(const struct files *files);

/* After a round: saves state, history and metrics if they are due. */
void files_tick(struct files *files, const struct riptide_tick *tick);

/* Counts what has happened so far for the hour. */
void files_note_hour(struct files *files);

/* Saves the state; with `is_synced` waits for the disk. */
void files_save(struct files *files, bool is_synced);

/* At the end: `r` is the agent's result for the state. Removes the metrics. */
void files_end(struct files *files, int r, struct riptide_error *error);

#endif
