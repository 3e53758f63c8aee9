/* SPDX-License-Identifier: MIT */
/*
 * The state of an agent in its file, which is replaced whole or not at all. compute/state.c and
 * state_text.c define the text.
 */
#include "parts.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The largest size that is loaded. */
enum { MAX_FILE_BYTES = 1 << 30 };

static struct clocks read_clocks(void)
{
    return (struct clocks){ read_clock(CLOCK_BOOTTIME), read_clock(CLOCK_REALTIME) };
}

static void put_state(FILE *out, const struct riptide_agent *agent)
{
    const struct clocks clocks = read_clocks();

    riptide_estimator_print(agent->estimator, out, clocks.now_ns, clocks.realtime_ns);
    state_text_put(out, agent, clocks);
}

RIPTIDE_PUBLIC char *riptide_agent_get_state(const struct riptide_agent *agent)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);

    if (!out)
        return NULL;
    put_state(out, agent);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/*
 * Writes the state to the fd, and closes that. It is not made as one text before, which would be a
 * third of a daemon's memory. Errors: those of fdopen(3), write(2), fchmod(2), fsync(2).
 */
static int write_state(int fd, bool is_synced, const struct riptide_agent *agent)
{
    FILE *out = fdopen(fd, "w");
    int error = 0;

    if (!out) {
        error = errno;
        close(fd);
        return -error;
    }
    put_state(out, agent);
    if (fchmod(fd, 0600) < 0 || fflush(out) != 0) /* whatever the umask */
        error = errno;
    else if (ferror(out)) /* of an earlier write, when the buffer was full */
        error = EIO;
    else if (is_synced && fsync(fd) < 0)
        error = errno;
    if (fclose(out) != 0 && error == 0)
        error = errno;
    return -error;
}

/* The new name is on disk only when its directory is. */
static int sync_directory(const char *path)
{
    CLEANUP(closep) int fd = -1;
    char copy[PATH_MAX];

    snprintf(copy, sizeof(copy), "%s", path);
    fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 && fsync(fd) == 0 ? 0 : -errno;
}

static int fail(struct riptide_error *error, const char *path, const char *action, int r)
{
    error_set_field(error, "state", "%s: %s: %s", path, action, strerror(-r));
    return r;
}

/* Writes PATH.tmp, and renames that to PATH. Only one process writes it. */
static int replace(const struct riptide_agent *agent, bool is_synced, struct riptide_error *error)
{
    const char *path = agent->state;
    char temporary[PATH_MAX];
    struct stat there;
    int fd, r;

    if ((size_t)snprintf(temporary, sizeof(temporary), "%s.tmp", path) >= sizeof(temporary))
        return fail(error, path, "write", -ENAMETOOLONG);
    /* A rename replaces anything: devices, FIFOs and links must stay. */
    if (lstat(path, &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode))
        return error_set_field(error, "state",
                               "%s: exists and is no regular file, so it is not replaced", path);
    unlink(temporary); /* of a process that was killed as it wrote */
    fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail(error, path, "cannot make a temporary file beside it", -errno);
    r = write_state(fd, is_synced, agent);
    if (r == 0 && rename(temporary, path) < 0)
        r = -errno;
    if (r < 0) {
        unlink(temporary);
        return fail(error, path, "write", r);
    }
    r = is_synced ? sync_directory(path) : 0;
    return r < 0 ? fail(error, path, "sync its directory", r) : 0;
}

RIPTIDE_PUBLIC int riptide_agent_save(const struct riptide_agent *agent, bool is_synced,
                                      struct riptide_error *error)
{
    error_set(error, "%s", "");
    if (is_forked(agent->pid, error))
        return -ECHILD;
    if (!agent->state)
        return error_set_field(error, "state", "no file is configured");
    if (!agent->is_started)
        return error_set_field(error, "state", "%s is loaded at the start, and not replaced before",
                               agent->state);
    return agent->stages.applier.dry_run ? 0 : replace(agent, is_synced, error);
}

/*
 * Reads the n bytes of a file, with a zero behind them. The caller frees *textp, also after an
 * error. Returns 0 or an errno, which is not negative.
 */
static int read_file(const char *path, char **textp, size_t *np)
{
    /* A FIFO in its place must not block the start, and a link would be replaced by a save. */
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    struct stat stat;
    size_t n = 0;
    ssize_t got = 1;

    if (fd < 0 || fstat(fd, &stat) < 0)
        return errno;
    if (!S_ISREG(stat.st_mode))
        return S_ISDIR(stat.st_mode) ? EISDIR : EINVAL;
    if (stat.st_size > MAX_FILE_BYTES)
        return EFBIG;
    *textp = malloc((size_t)stat.st_size + 1);
    if (!*textp)
        return ENOMEM;
    /* Fewer bytes if it has become shorter meanwhile. */
    while (n < (size_t)stat.st_size && got > 0) {
        got = read(fd, *textp + n, (size_t)stat.st_size - n);
        n += got > 0 ? (size_t)got : 0;
    }
    (*textp)[n] = '\0';
    *np = n;
    return got < 0 ? errno : 0;
}

/*
 * Keeps a file that cannot be loaded as PATH.old, as the next save replaces it: it may be of a
 * newer version, or none of ours. Returns whether it was kept.
 */
static bool keep_old(const struct riptide_agent *agent)
{
    char old[PATH_MAX];

    return !agent->stages.applier.dry_run &&
           (size_t)snprintf(old, sizeof(old), "%s.old", agent->state) < sizeof(old) &&
           rename(agent->state, old) == 0;
}

/* A pause, hints and outcomes are loaded even where windows are refused, as the clock is wrong. */
bool state_load(struct riptide_agent *agent)
{
    struct riptide_error destinations, others = { .text = "" };
    struct clocks clocks = read_clocks();
    char *text = NULL;
    size_t n = 0;
    int r;

    if (!agent->state)
        return false;
    r = read_file(agent->state, &text, &n);
    if (r > 0) {
        const bool is_other = r == EINVAL || r == ELOOP || r == EISDIR;

        free(text);
        error_set(&agent->state_said, "%s: %s; starting empty%s", agent->state,
                  is_other ? "is no regular file" : strerror(r),
                  !is_other && r != ENOENT && keep_old(agent) ? "; kept as .old" : "");
        return r != ENOENT;
    }
    /* Hints come first: each bounds all destinations anew. */
    state_text_load(agent, text, clocks, &others);
    r = riptide_estimator_load(agent->estimator, clocks.now_ns, clocks.realtime_ns, text, n,
                               &destinations);
    free(text);
    error_set(&agent->state_said, "%s: %s%s; %s%s", agent->state, destinations.text,
              r == 0 ? "" : "; no destinations loaded", others.text,
              r != 0 && keep_old(agent) ? "; kept as .old" : "");
    agent_apply_pause(agent);
    return r != 0;
}
