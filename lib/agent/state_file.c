/* SPDX-License-Identifier: MIT */
/*
 * An estimator's state in a file, followed by the agent's books. lib/compute/state.c and
 * lib/proof/books.c define the text. Files are replaced whole or not at all, and read whole; the
 * programs use this too.
 */
#include "agent/parts.h"
#include "compute/estimator.h"
#include "internal.h"
#include "tools.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(struct riptide_error *error, const char *path, const char *action, int code)
{
    error_set(error, "%s: %s%s", path, action, strerror(code));
    return -code;
}

static int write_all(int fd, const char *bytes, size_t n)
{
    for (ssize_t written = 0; n > 0; bytes += written, n -= (size_t)written) {
        written = write(fd, bytes, n);
        if (written < 0 && errno != EINTR)
            return errno;
        written = written < 0 ? 0 : written;
    }
    return 0;
}

/* Written in pieces: the whole text would be a third of a daemon's memory. */
static int write_state(int fd, const struct riptide_estimator *estimator)
{
    enum { PIECE_BYTES = 4096 };
    uint64_t now_ns = read_clock(CLOCK_BOOTTIME);
    char text[PIECE_BYTES + STATE_LINE_BYTES + LADDER_BYTES];
    size_t n = state_put_head(text, estimator, read_clock(CLOCK_REALTIME));
    int r = 0;

    FOR_EACH_DESTINATION(estimator, slot) {
        n += state_put_line(text + n, estimator, slot, now_ns);
        if (r == 0 && n >= PIECE_BYTES)
            r = write_all(fd, text, n);
        if (n >= PIECE_BYTES)
            n = 0;
    }
    return r == 0 ? write_all(fd, text, n) : r;
}

DIR *riptide_directory_open(const char *path)
{
    char copy[PATH_MAX];

    snprintf(copy, sizeof(copy), "%s", path);
    return opendir(dirname(copy));
}

/* The new name is on disk only when its directory is. */
static int sync_directory(const char *path)
{
    DIR *dir = riptide_directory_open(path);
    int r = dir && fsync(dirfd(dir)) == 0 ? 0 : errno;

    if (dir)
        closedir(dir);
    return r;
}

/* Writes the text of an estimator, if any, then the bytes. */
static int replace(const char *path, const struct riptide_estimator *estimator, const void *bytes,
                   size_t n, unsigned int mode, bool is_synced, struct riptide_error *error)
{
    char temporary[PATH_MAX];
    CLEANUP(closep) int fd = -1;
    struct stat there;
    int r;

    if ((size_t)snprintf(temporary, sizeof(temporary), "%s.tmp-XXXXXX", path) >= sizeof(temporary))
        return fail(error, path, "write: ", ENAMETOOLONG);
    /* A rename replaces anything: devices, FIFOs and links must stay. */
    if (lstat(path, &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode)) {
        error_set(error, "%s: exists and is no regular file, so it is not replaced", path);
        return -EINVAL;
    }
    fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return fail(error, path, "make a file beside it: ", errno);
    r = fchmod(fd, mode) < 0 ? errno : 0;
    if (r == 0 && estimator)
        r = write_state(fd, estimator);
    if (r == 0)
        r = write_all(fd, bytes, n);
    if (r == 0 && is_synced && fsync(fd) < 0)
        r = errno;
    if (r == 0 && rename(temporary, path) < 0)
        r = errno;
    if (r != 0) {
        unlink(temporary);
        return fail(error, path, "write: ", r);
    }
    r = is_synced ? sync_directory(path) : 0;
    return r ? fail(error, path, "sync its directory: ", r) : 0;
}

int riptide_file_write(const char *path, const void *bytes, size_t n, unsigned int mode,
                       bool is_synced, struct riptide_error *error)
{
    return replace(path, NULL, bytes, n, mode, is_synced, error);
}

int riptide_file_read(const char *path, size_t max_bytes, void **bytesp, size_t *np,
                      struct riptide_error *error)
{
    /* O_NONBLOCK: a FIFO in its place must not block the start. */
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    CLEANUP(freep) unsigned char *bytes = NULL;
    struct stat stat;
    size_t n = 0;
    ssize_t got;

    if (fd < 0 || fstat(fd, &stat) < 0)
        return fail(error, path, "", errno);
    if (!S_ISREG(stat.st_mode)) {
        error_set(error, "%s: is %s", path,
                  S_ISDIR(stat.st_mode) ? "a directory" : "no regular file");
        return -EINVAL;
    }
    if ((size_t)stat.st_size > max_bytes) {
        error_set(error, "%s: is larger than %zu bytes", path, max_bytes);
        return -EINVAL;
    }
    bytes = malloc((size_t)stat.st_size + 1);
    if (!bytes)
        return fail(error, path, "", ENOMEM);
    /* Fewer bytes if it has become shorter meanwhile. */
    while (n < (size_t)stat.st_size && (got = read(fd, bytes + n, (size_t)stat.st_size - n)) != 0) {
        if (got < 0 && errno != EINTR)
            return fail(error, path, "", errno);
        n += got > 0 ? (size_t)got : 0;
    }
    bytes[n] = 0;
    *np = n;
    *bytesp = bytes;
    bytes = NULL;
    return 0;
}

enum { SHARES_BYTES = 64 };

static const char tainted_line[] = "books_tainted=1\n";

/* One line for each destination that windows harmed; upper bound of its size. */
enum { HARMED_BYTES = RIPTIDE_PREFIX_TEXT_BYTES + HARM_LINE_BYTES + 16 };

static size_t put_harmed(char *text, const struct watch *watch, uint64_t now_ns,
                         uint64_t realtime_ns)
{
    size_t n = 0;

    FOR_EACH_WATCHED(watch, slot) {
        const struct watched *watched = watched_at(watch, slot);
        char dst[RIPTIDE_PREFIX_TEXT_BYTES];

        if (harm_is_over(&watched->harm, now_ns))
            continue;
        riptide_prefix_format(&watched->dst, dst);
        n += (size_t)snprintf(text + n, HARMED_BYTES, "harmed=%s ", dst);
        n += harm_save(&watched->harm, now_ns, realtime_ns, text + n);
    }
    return n;
}

/* The books and the waits of steps back, as they follow a state; empty if there are none. */
static int put_books(const struct outcomes *outcomes, char **textp, size_t *np)
{
    const struct books *books = outcomes->books;
    const struct arm_config *arms = &outcomes->arms;
    size_t size = books ? books_save(books, NULL, 0) : 0, n = 0;
    size_t ended_size = outcomes->ended ? books_save(outcomes->ended, NULL, 0) : 0;
    uint64_t now_ns = read_clock(CLOCK_BOOTTIME), realtime_ns = read_clock(CLOCK_REALTIME);
    char *text;

    if (!books && outcomes->kept) {
        *textp = strdup(outcomes->kept);
        *np = strlen(outcomes->kept);
        return *textp ? 0 : ENOMEM;
    }
    text = malloc(size + ended_size + (size_t)5 * SHARES_BYTES + HARM_LINE_BYTES +
                  (size_t)outcomes->watch.table.n * HARMED_BYTES);
    if (!text)
        return ENOMEM;
    if (books) {
        n = books_save(books, text, size);
        /* After the last cell, so that truncated books have no known shares. */
        n += (size_t)snprintf(text + n, SHARES_BYTES, "holdout_percent=%u trial_percent=%u",
                              arms->holdout_percent, arms->trial_percent);
        n += (size_t)snprintf(text + n, SHARES_BYTES, arms->turn_ms ? " turn_ms=%u\n" : "\n",
                              arms->turn_ms);
        n += harm_save(&outcomes->harm, now_ns, realtime_ns, text + n);
        n += put_harmed(text + n, &outcomes->watch, now_ns, realtime_ns);
        n += (size_t)snprintf(text + n, SHARES_BYTES, "books_since_s=%" PRIu64 "\n%s",
                              outcomes->since_s, outcomes->are_tainted ? tainted_line : "");
    }
    if (books && outcomes->ended) {
        n += books_save(outcomes->ended, text + n, ended_size);
        n += (size_t)snprintf(text + n, SHARES_BYTES, "ended_due=%" PRIu64 "\n",
                              outcomes->ended_due);
    }
    *textp = text;
    *np = n;
    return 0;
}

char *riptide_state_text(const struct riptide_agent *agent, size_t *np)
{
    const struct riptide_estimator *estimator = agent->estimator;
    uint64_t now_ns = read_clock(CLOCK_BOOTTIME), realtime_ns = read_clock(CLOCK_REALTIME);
    size_t size = riptide_estimator_save(estimator, now_ns, realtime_ns, NULL, 0), n_books = 0;
    CLEANUP(freep) char *books = NULL;
    char *text = put_books(&agent->outcomes, &books, &n_books) == 0 ? malloc(size + n_books) : NULL;

    if (!text)
        return NULL;
    *np = riptide_estimator_save(estimator, now_ns, realtime_ns, text, size);
    memcpy(text + *np, books, n_books);
    *np += n_books;
    return text;
}

int riptide_state_write(const struct riptide_agent *agent, const char *path, bool is_synced,
                        struct riptide_error *error)
{
    CLEANUP(freep) char *books = NULL;
    size_t n = 0;
    int r = put_books(&agent->outcomes, &books, &n);

    if (r != 0)
        return fail(error, path, "write: ", r);
    return replace(path, agent->estimator, books, n, RIPTIDE_STATE_MODE, is_synced, error);
}

/* Ended books, and books of other shares: their counters continue. */
static void load_ended(struct outcomes *has, const char *at, const char *others, size_t n,
                       uint32_t holdout_percent)
{
    const char *begin = strstr(at, "\nriptide books ");
    const char *end = begin ? strstr(begin, "\nended_due=") : NULL;
    uint64_t due = 0;

    if ((!end && !others) || !books_get_ended(has))
        return;
    if (others && books_load(has->ended, others, n, NULL, NULL) == 0)
        has->ended_due += books_due(has->ended, holdout_percent);
    if (end && books_load(has->ended, begin + 1, (size_t)(end - begin), NULL, NULL) == 0 &&
        sscanf(end, "\nended_due=%" SCNu64, &due) == 1)
        has->ended_due += due;
}

/* `outcomes`: the connections in the agent's books then, and books that were not loaded. */
static void load_books(struct outcomes *has, const char *state, size_t size,
                       struct riptide_error *outcomes)
{
    const struct arm_config *arms = &has->arms;
    struct riptide_error reason = { .text = "" };
    struct arm_config had = { 0 };
    uint32_t n_skipped = 0;
    const char *text, *since;
    size_t n;
    int r = books_find(state, size, &text, &n, &had, &reason);
    bool are_other = arms_differ(&had, arms);

    if (r == -ENOENT)
        reason.text[0] = '\0';
    else if (r == 0 && are_other)
        error_set(&reason,
                  "books of --holdout-percent %u, --trial-percent %u, --holdout-turn %gs are not "
                  "used, as these are %u, %u and %gs now",
                  had.holdout_percent, had.trial_percent, had.turn_ms / 1e3, arms->holdout_percent,
                  arms->trial_percent, arms->turn_ms / 1e3);
    else if (r == 0 && has->books && books_load(has->books, text, n, &n_skipped, &reason) == 0 &&
             (since = strstr(text + n, "\nbooks_since_s=")))
        sscanf(since, "\nbooks_since_s=%" SCNu64, &has->since_s);
    if (r == 0 && has->books)
        load_ended(has, text + n, are_other && had.turn_ms == 0 ? text : NULL, n,
                   had.holdout_percent);
    if (n_skipped > 0)
        error_set(&reason, "invalid lines: %u", n_skipped);
    error_set(outcomes, "outcomes of %s: %llu%s%s", arms_unit(arms),
              (unsigned long long)(has->books ? books_count(has->books) : 0),
              reason.text[0] ? ": " : "", reason.text);
}

static void load_harmed(struct outcomes *has, const char *at, uint64_t now_ns,
                        uint64_t realtime_ns)
{
    char text[RIPTIDE_PREFIX_TEXT_BYTES];
    struct riptide_prefix dst;
    struct watched *watched;
    int n = 0;

    while ((at = strstr(at, "\nharmed="))) {
        at++;
        if (sscanf(at, "harmed=%49s %n", text, &n) != 1 || riptide_prefix_parse(&dst, text) != 0 ||
            !(watched = watch_get(&has->watch, &dst, now_ns)) || watched->harm.n > 0)
            continue;
        harm_load(&watched->harm, at + n, now_ns, realtime_ns);
        has->watch.n_back += watched_is_back(watched);
        watched->n_wait = watched_is_back(watched) ? BOOKS_WAIT : 0;
    }
}

/* Windows that had stepped back stay so, until the same time. */
static void load_harm(struct riptide_agent *agent, const char *text)
{
    uint64_t now_ns = read_clock(CLOCK_BOOTTIME), realtime_ns = read_clock(CLOCK_REALTIME);
    const char *line = strstr(text, "\nstepped_back=");
    struct outcomes *has = &agent->outcomes;

    load_harmed(has, text, now_ns, realtime_ns);
    has->are_tainted = strstr(text, tainted_line);
    if (line)
        harm_load(&has->harm, line + 1, now_ns, realtime_ns);
    if (has->harm.until_ns == 0)
        return;
    snprintf(has->why_back, sizeof(has->why_back),
             "stepped back before the last start, for another %llu s; `riptide verdict` has the reason",
             (unsigned long long)((has->harm.until_ns - now_ns) / NS_PER_S));
    backends_step_back(&agent->backends, has->why_back);
}

/* Keeps books, and the waits that they caused, that this agent cannot use, for a later start. */
static void keep_books(struct outcomes *has, const char *text)
{
    const char *begin = strstr(text, "\nriptide books ");

    free(has->kept);
    has->kept = begin ? strdup(begin + 1) : NULL;
}

RIPTIDE_PUBLIC int riptide_state_save(const struct riptide_estimator *estimator, const char *path,
                                      struct riptide_error *error)
{
    return replace(path, estimator, NULL, 0, RIPTIDE_STATE_MODE, true, error);
}

/* The agent whose books are loaded too, or NULL: books do not need the right time. */
static int load(struct riptide_estimator *estimator, struct riptide_agent *agent, const char *path,
                struct riptide_load_counts *counts, struct riptide_error *outcomes,
                struct riptide_error *error)
{
    CLEANUP(freep) void *text = NULL;
    struct riptide_error reason = { .text = "" };
    size_t n = 0;
    int r = riptide_file_read(path, RIPTIDE_STATE_MAX_BYTES, &text, &n, error);

    if (r < 0)
        return r;
    /* The state is its own, so it keeps its host id. */
    if (agent && state_host(text, n) > 0)
        estimator->hosts[0].id = state_host(text, n);
    r = riptide_estimator_load(estimator, read_clock(CLOCK_BOOTTIME), read_clock(CLOCK_REALTIME),
                               text, n, false, counts, &reason);
    if (r != 0)
        error_set(error, "%s: %s", path, reason.text[0] ? reason.text : riptide_strerror(r));
    if (agent && agent->outcomes.books) {
        load_books(&agent->outcomes, text, n, outcomes);
        load_harm(agent, text);
    } else if (agent) {
        keep_books(&agent->outcomes, text);
        error_set(outcomes, "outcomes of connections: 0%s",
                  agent->outcomes.kept
                      ? ": those in the file stay there, as none is held out now"
                      : "");
    }
    return r;
}

int riptide_state_read(struct riptide_agent *agent, const char *path,
                       struct riptide_load_counts *counts, struct riptide_error *outcomes,
                       struct riptide_error *error)
{
    outcomes->text[0] = '\0';
    return load(agent->estimator, agent, path, counts, outcomes, error);
}

RIPTIDE_PUBLIC int riptide_state_load(struct riptide_estimator *estimator, const char *path,
                                      struct riptide_load_counts *counts,
                                      struct riptide_error *error)
{
    return load(estimator, NULL, path, counts, NULL, error);
}
