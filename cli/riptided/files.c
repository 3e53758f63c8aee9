/* SPDX-License-Identifier: MIT */
#include "files.h"

#include "clock.h"
#include "hints.h"
#include "log.h"
#include "metrics.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The most that a crash may lose. */
#define SAVE_INTERVAL_NS (60 * NS_PER_S)

/* Between two notes for the history. */
enum { NOTE_S = 10 };

/* Of a path: settings have less than 256, and the history's name is longer. */
enum { PATH_BYTES = 256 + sizeof(".history") };

/* For a collector that reads every 15 s; shorter with short rounds. */
enum { METRICS_ROUNDS = 15 };

bool files_keep_state(const struct files *files)
{
    return files->settings->agent.state && !files->settings->applier.dry_run;
}

void files_load(struct files *files)
{
    struct history *history = &files->history;
    char path[PATH_BYTES];
    struct stat there;
    json_t *hours;

    history->hours = json_array();
    if (!riptide_agent_get_stats(files->agent)->state)
        return;
    snprintf(path, sizeof(path), "%s.history", files->settings->agent.state);
    /* The next save replaces a damaged one. A link or FIFO in its place stays. */
    if (lstat(path, &there) < 0 || !S_ISREG(there.st_mode))
        return;
    hours = json_load_file(path, 0, NULL);
    if (json_array_extend(history->hours, hours) < 0)
        log_line(LOG_WARNING, "%s: damaged, starting empty", path);
    json_decref(hours);
}

/* Segments that all TCP of the network namespace has sent, and those that it retransmitted. */
static void read_segments(struct counters *counters)
{
    FILE *file = fopen("/proc/net/snmp", "re");
    char line[1024];

    if (!file)
        return;
    /* Other lines, as that with the names, have no numbers there. */
    while (fgets(line, sizeof(line), file))
        sscanf(line, "Tcp: %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %" SCNu64 " %" SCNu64,
               &counters->of[COUNTER_SENT_SEGS], &counters->of[COUNTER_RETRANS_SEGS]);
    fclose(file);
}

void files_note_hour(struct files *files)
{
    struct counters counters = health_count(files->health);
    struct riptide_verdict verdict;
    const bool is_known = riptide_agent_get_verdict(files->agent, &verdict, sizeof(verdict)) == 0;

    read_segments(&counters);
    history_note(&files->history, clock_read_ns(CLOCK_REALTIME) / NS_PER_S, &counters,
                 is_known ? &verdict : NULL);
}

/* Warns of a directory that is missing. */
static void check_directory(const char *what, const char *path)
{
    char directory[PATH_BYTES];

    if (!path)
        return;
    snprintf(directory, sizeof(directory), "%s", path);
    if (access(dirname(directory), F_OK) < 0 && errno != EACCES)
        log_line(LOG_WARNING, "%s: %s is not there: nothing is saved until it is", what, directory);
}

void files_check(const struct settings *settings)
{
    struct riptide_applier_config config = settings->applier;
    struct riptide_applier *applier = NULL;
    struct riptide_error error;

    /* AUTO takes routes where the program is refused. */
    config.backend = RIPTIDE_PROGRAM;
    if (config.cgroup && riptide_applier_new(&applier, &config, &error) < 0) {
        settings_explain_refusal(settings, &error);
        log_line(LOG_WARNING, "%s; a start now gives windows by routes alone", error.text);
    }
    riptide_applier_free(applier);
    check_directory("state", settings->agent.state);
    check_directory("metrics", settings->metrics);
}

/* Logs that something is not saved, and that it is saved again; keeps why. */
static void note(char failure[FILES_FAILURE_BYTES], const char *what, int r,
                 const struct riptide_error *error)
{
    const char *text = log_error_text(error, r);

    /* The text begins with the field, if there is one. */
    if (error->field)
        text += strlen(error->field) + strlen(": ");
    if (r < 0 && !failure[0])
        log_event(LOG_WARNING, &(struct log_fields){ .event = "not saved", .reason = text },
                  "%s not saved: %s", what, text);
    if (r == 0 && failure[0])
        log_event(LOG_INFO, &(struct log_fields){ .event = "saved" }, "%s saved again", what);
    snprintf(failure, FILES_FAILURE_BYTES, "%s", r < 0 ? text : "");
}

/*
 * Replaces a file whole or not at all: writes PATH.tmp and renames it; no link is followed.
 * -EINVAL: a directory, a link or a device has that path, and stays.
 */
static int replace(const char *path, unsigned int mode, const char *text,
                   struct riptide_error *error)
{
    char temporary[PATH_BYTES + sizeof(".tmp")];
    struct stat there;
    int fd, r = 0;

    if (!text)
        return -ENOMEM;
    snprintf(temporary, sizeof(temporary), "%s.tmp", path);
    /* A rename replaces anything: devices, FIFOs and links must stay. */
    if (lstat(path, &there) == 0 && !S_ISREG(there.st_mode))
        return refuse(error, -EINVAL,
                      "%.160s: exists and is no regular file, so it is not replaced", path);
    /* One that was left by a process that was killed, or a trap: made anew, never opened. */
    unlink(temporary);
    fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return refuse(error, -errno, "%.160s: %s", path, strerror(errno));
    if (dprintf(fd, "%s", text) < 0 || fchmod(fd, mode) < 0 || rename(temporary, path) < 0) {
        r = refuse(error, -errno, "%.160s: %s", path, strerror(errno));
        unlink(temporary);
    }
    close(fd);
    return r;
}

/* `r` is the agent's result for the state, whose directory the history shares. */
static void end_save(struct files *files, int r, struct riptide_error *error)
{
    char path[PATH_BYTES], *text;

    note(files->state_failure, "state", r, error);
    if (r < 0)
        return;
    text = json_dumps(files->history.hours, JSON_REAL_PRECISION(6));
    snprintf(path, sizeof(path), "%s.history", files->settings->agent.state);
    r = replace(path, 0600, text, error);
    note(files->history_failure, "history", r, error);
    free(text);
}

void files_save(struct files *files, bool is_synced)
{
    struct riptide_error error = { .text = "" };

    if (files_keep_state(files))
        end_save(files, riptide_agent_save(files->agent, is_synced, &error), &error);
}

/* Whether metrics are due after that round. */
static bool is_metrics_due(const struct files *files, const struct riptide_tick *tick)
{
    const struct settings *settings = files->settings;

    if (!settings->metrics || settings->applier.dry_run || settings->once)
        return false;
    return tick->finished_ns >= files->metrics_ns;
}

static void save_metrics(struct files *files)
{
    char *text = metrics_text(files->health, hints_count(files->agent));
    struct riptide_error error = { .text = "" };
    /* Not synced: after a crash of the machine the content is useless. Readable by all. */
    int r = replace(files->settings->metrics, 0644, text, &error);

    free(text);
    note(files->metrics_failure, "metrics", r, &error);
    if (r == 0)
        files->has_metrics = true;
    /* What is in its place is not ours. On a full disk the last one stays. */
    if (r == -EINVAL)
        files->has_metrics = false;
}

void files_tick(struct files *files, const struct riptide_tick *tick)
{
    const uint64_t interval_ns = files->settings->agent.interval_ns;
    const uint64_t round_ns = interval_ns < NS_PER_S ? interval_ns : NS_PER_S;

    if (clock_read_ns(CLOCK_REALTIME) / NS_PER_S - files->history.noted_s >= NOTE_S)
        files_note_hour(files);
    if (tick->finished_ns >= files->save_ns) {
        files->save_ns = tick->finished_ns + SAVE_INTERVAL_NS;
        /* Routing changes must not wait for the disk. */
        files_save(files, false);
    }
    if (is_metrics_due(files, tick)) {
        files->metrics_ns = tick->finished_ns + METRICS_ROUNDS * round_ns;
        save_metrics(files);
    }
}

void files_end(struct files *files, int r, struct riptide_error *error)
{
    if (files_keep_state(files)) {
        files_note_hour(files);
        end_save(files, r, error);
    }
    /* No reader may take the daemon for running. */
    if (files->has_metrics)
        unlink(files->settings->metrics);
}
