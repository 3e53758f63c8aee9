/* SPDX-License-Identifier: MIT */
/*
 * When state, history and metrics are written, and the log lines about them. A failure does not
 * stop the daemon: it is logged once, and once that it is over.
 */
#include "daemon.h"

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

bool files_keep_state(const struct daemon *daemon)
{
    return daemon->settings->agent.state && !daemon->settings->applier.dry_run;
}

void files_load(struct daemon *daemon)
{
    json_t *hours;
    char path[PATH_BYTES];
    struct stat there;

    if (!riptide_agent_get_stats(daemon->agent)->state)
        return;
    hints_read(daemon);
    snprintf(path, sizeof(path), "%s.history", daemon->settings->agent.state);
    /* The next save replaces a damaged one. A link or FIFO in its place stays. */
    if (lstat(path, &there) < 0 || !S_ISREG(there.st_mode))
        return;
    hours = json_load_file(path, 0, NULL);
    if (json_array_extend(daemon->history.hours, hours) < 0)
        log_line(LOG_WARNING, "%s: damaged, starting empty", path);
    json_decref(hours);
}

void files_note_hour(struct daemon *daemon)
{
    const struct riptide_program_counts opened = health_count_opened(daemon);
    uint64_t counters[HISTORY_COUNTERS] = { opened.given, opened.held_out, opened.kept };
    struct riptide_verdict verdict;
    const bool is_known = riptide_agent_get_verdict(daemon->agent, &verdict, sizeof(verdict)) == 0;
    FILE *file = fopen("/proc/net/snmp", "re");
    char line[1024];

    /* Segments sent and retransmitted. Other lines, as that with the names, have no numbers. */
    while (file && fgets(line, sizeof(line), file))
        sscanf(line, "Tcp: %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %" SCNu64 " %" SCNu64,
               &counters[3], &counters[4]);
    if (file)
        fclose(file);
    counters[5] = daemon->health.suspended_ns / NS_PER_S;
    counters[6] = daemon->health.paused_ns / NS_PER_S;
    history_note(&daemon->history, clock_read_ns(CLOCK_REALTIME) / NS_PER_S, counters,
                 is_known ? &verdict : NULL);
}

void files_check(const struct settings *settings)
{
    const char *const paths[] = { settings->agent.state, settings->metrics };
    struct riptide_applier_config config = settings->applier;
    struct riptide_applier *applier = NULL;
    struct riptide_error error;
    char directory[PATH_BYTES];

    /* AUTO takes routes where the program is refused. */
    config.backend = RIPTIDE_PROGRAM;
    if (config.cgroup && riptide_applier_new(&applier, &config, &error) < 0) {
        settings_explain_refusal(settings, &error);
        log_line(LOG_WARNING, "%s; a start now gives windows by routes alone", error.text);
    }
    riptide_applier_free(applier);
    for (size_t i = 0; i < 2; i++) {
        snprintf(directory, sizeof(directory), "%s", paths[i] ? paths[i] : "/");
        if (access(dirname(directory), F_OK) < 0 && errno != EACCES)
            log_line(LOG_WARNING, "%s: %s is not there: nothing is saved until it is",
                     i ? "metrics" : "state", directory);
    }
}

static void note(char failure[256], const char *what, int r, const struct riptide_error *error)
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
    snprintf(failure, 256, "%s", r < 0 ? text : "");
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
static void end_save(struct daemon *daemon, int r, struct riptide_error *error)
{
    char path[PATH_BYTES], *text;

    note(daemon->state_failure, "state", r, error);
    if (r < 0)
        return;
    text = json_dumps(daemon->history.hours, JSON_REAL_PRECISION(6));
    snprintf(path, sizeof(path), "%s.history", daemon->settings->agent.state);
    r = replace(path, 0600, text, error);
    note(daemon->history_failure, "history", r, error);
    free(text);
}

void files_save(struct daemon *daemon, bool is_synced)
{
    struct riptide_error error = { .text = "" };

    if (files_keep_state(daemon))
        end_save(daemon, riptide_agent_save(daemon->agent, is_synced, &error), &error);
}

void files_tick(struct daemon *daemon, const struct riptide_tick *tick)
{
    const struct settings *settings = daemon->settings;
    const uint64_t round_ns =
        settings->agent.interval_ns < NS_PER_S ? settings->agent.interval_ns : NS_PER_S;
    struct riptide_error error = { .text = "" };
    char *text;
    int r;

    if (clock_read_ns(CLOCK_REALTIME) / NS_PER_S - daemon->history.noted_s >= NOTE_S)
        files_note_hour(daemon);
    /* Routing changes must not wait for the disk. */
    if (tick->finished_ns >= daemon->save_ns) {
        daemon->save_ns = tick->finished_ns + SAVE_INTERVAL_NS;
        files_save(daemon, false);
    }
    if (!settings->metrics || settings->applier.dry_run || settings->once ||
        tick->finished_ns < daemon->metrics_ns)
        return;
    daemon->metrics_ns = tick->finished_ns + METRICS_ROUNDS * round_ns;
    text = metrics_text(daemon);
    /* Not synced: after a crash of the machine the content is useless. Readable by all. */
    r = replace(settings->metrics, 0644, text, &error);
    free(text);
    note(daemon->metrics_failure, "metrics", r, &error);
    /* On a full disk the last one stays; -EINVAL: what is in its place is not ours. */
    daemon->has_metrics = r == 0 || (daemon->has_metrics && r != -EINVAL);
}

void files_end(struct daemon *daemon, int r, struct riptide_error *error)
{
    if (files_keep_state(daemon)) {
        files_note_hour(daemon);
        end_save(daemon, r, error);
    }
    /* No reader may take the daemon for running. */
    if (daemon->has_metrics)
        unlink(daemon->settings->metrics);
}
