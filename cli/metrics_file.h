/* SPDX-License-Identifier: MIT */
/*
 * Metrics of a running daemon: counted event by event, read from the agent, written to a file.
 */
#ifndef CLI_METRICS_FILE_H
#define CLI_METRICS_FILE_H

#include "metrics_text.h"
#include "settings.h"

struct metrics_file {
    const struct settings *settings;
    struct metrics metrics;
    uint64_t written_ns; /* when the file was last tried; 0: not yet */
    bool is_failing;     /* said once, until it can be written again */
    bool is_there;       /* and of ours */
};

/* Settings are about to become `fresh`: a file that they leave out goes. */
void metrics_file_reconfigure(struct metrics_file *file, const struct settings *fresh);

/* Counts the event; writes the file at the end of a tick where it is time. */
void metrics_file_event(struct metrics_file *file, const struct riptide_agent *agent,
                        const struct riptide_agent_event *event);

/* Takes the file away: who reads it must not believe that the daemon still runs. */
void metrics_file_remove(const struct metrics_file *file);

/* Metrics as of now, in memory of the caller's. Errors: -ENOMEM. */
int metrics_file_text(struct metrics_file *file, const struct riptide_agent *agent, char **textp,
                      size_t *sizep);

#endif
