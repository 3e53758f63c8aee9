/* SPDX-License-Identifier: MIT */
/*
 * An estimator's state in a file, and behind it an agent's books. What the text means is
 * lib/compute/state.c's and lib/proof/books_text.c's. Files are replaced whole or not at all, and
 * read whole: so are those of the programs.
 */
#include "agent/parts.h"
#include "compute/estimator.h"
#include "internal.h"
#include "tools.h"

#include <errno.h>
#include <fcntl.h>
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

/* A piece at a time: the whole text would be a third of a daemon's memory. */
static int write_state(int fd, const struct riptide_estimator *estimator)
{
    enum { PIECE_BYTES = 4096 };
    uint64_t now_ns = read_clock(CLOCK_BOOTTIME);
    char text[PIECE_BYTES + STATE_LINE_BYTES];
    size_t n = state_put_head(text, read_clock(CLOCK_REALTIME));
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

/* The new name is on the disk only when its directory is. */
static int sync_directory(const char *path)
{
    char copy[PATH_MAX];
    CLEANUP(closep) int fd = -1;

    snprintf(copy, sizeof(copy), "%s", path);
    fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 || fsync(fd) < 0 ? errno : 0;
}

/* By the text of an estimator, if any, and bytes behind it. */
static int replace(const char *path, const struct riptide_estimator *estimator, const void *bytes,
                   size_t n, unsigned int mode, bool is_synced, struct riptide_error *error)
{
    char temporary[PATH_MAX];
    CLEANUP(closep) int fd = -1;
    struct stat there;
    int r;

    if ((size_t)snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path) >= sizeof(temporary))
        return fail(error, path, "write: ", ENAMETOOLONG);
    /* A rename replaces all that it finds: devices, FIFOs and links are somebody else's. */
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
    /* O_NONBLOCK: a FIFO in its place must not hold up the start. */
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
    /* Fewer where it has become shorter meanwhile. */
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

char *riptide_state_text(const struct riptide_estimator *estimator, size_t *np)
{
    uint64_t now_ns = read_clock(CLOCK_BOOTTIME), realtime_ns = read_clock(CLOCK_REALTIME);
    size_t n = riptide_estimator_save(estimator, now_ns, realtime_ns, NULL, 0);
    char *text = malloc(n);

    if (text)
        *np = riptide_estimator_save(estimator, now_ns, realtime_ns, text, n);
    return text;
}

enum { SHARES_BYTES = 64 };

/* Behind the last cell, so that books that were cut off are of no known shares, and not taken. */
static size_t put_shares(char text[SHARES_BYTES], const struct arm_config *arms)
{
    return (size_t)snprintf(text, SHARES_BYTES, "\nholdout_percent=%u trial_percent=%u\n",
                            arms->holdout_percent, arms->trial_percent);
}

int riptide_state_write(const struct riptide_agent *agent, const char *path, bool is_synced,
                        struct riptide_error *error)
{
    const struct books *books = riptide_agent_get_books(agent);
    size_t size = books ? books_save(books, NULL, 0) : 0, n = 0;
    CLEANUP(freep) char *text = books ? malloc(size + SHARES_BYTES) : NULL;

    if (books && !text)
        return fail(error, path, "write: ", ENOMEM);
    if (books) {
        n = books_save(books, text, size) - 1; /* which ends with a newline as well */
        n += put_shares(text + n, &agent->stages.connections.arms);
    }
    return replace(path, agent->estimator, text, n, RIPTIDE_STATE_MODE, is_synced, error);
}

/* Returns how many connections the agent's books are of then. */
static uint64_t load_books(struct riptide_agent *agent, const char *text, size_t n)
{
    const char *begin = strstr(text, "\nriptide books ");
    char shares[SHARES_BYTES];
    uint64_t n_connections = 0;

    put_shares(shares, &agent->stages.connections.arms);
    if (!agent->books || !begin || !strstr(begin, shares))
        return 0;
    books_load(agent->books, begin + 1, (size_t)(text + n - begin - 1), NULL, NULL);
    for (size_t i = 0; i < (size_t)BOOK_CLASSES * ARMS; i++)
        n_connections += agent->books->cells[i / ARMS][i % ARMS].n;
    return n_connections;
}

RIPTIDE_PUBLIC int riptide_state_save(const struct riptide_estimator *estimator, const char *path,
                                      struct riptide_error *error)
{
    return replace(path, estimator, NULL, 0, RIPTIDE_STATE_MODE, true, error);
}

/* The agent whose books are loaded as well, or NULL. */
static int load(struct riptide_estimator *estimator, struct riptide_agent *agent, const char *path,
                struct riptide_load_counts *counts, uint64_t *n_outcomesp,
                struct riptide_error *error)
{
    CLEANUP(freep) void *text = NULL;
    struct riptide_error reason = { .text = "" };
    size_t n = 0;
    int r = riptide_file_read(path, RIPTIDE_STATE_MAX_BYTES, &text, &n, error);

    if (r < 0)
        return r;
    r = riptide_estimator_load(estimator, read_clock(CLOCK_BOOTTIME), read_clock(CLOCK_REALTIME),
                               text, n, false, counts, &reason);
    if (r != 0)
        error_set(error, "%s: %s", path, reason.text[0] ? reason.text : riptide_strerror(r));
    else if (agent)
        *n_outcomesp = load_books(agent, text, n);
    return r;
}

int riptide_state_read(struct riptide_agent *agent, const char *path,
                       struct riptide_load_counts *counts, uint64_t *n_outcomesp,
                       struct riptide_error *error)
{
    return load(agent->estimator, agent, path, counts, n_outcomesp, error);
}

RIPTIDE_PUBLIC int riptide_state_load(struct riptide_estimator *estimator, const char *path,
                                      struct riptide_load_counts *counts,
                                      struct riptide_error *error)
{
    return load(estimator, NULL, path, counts, NULL, error);
}
