/* SPDX-License-Identifier: MIT */
/* Standard error, and the end of standard output. repeats.c selects repeated lines to drop. */
#include "log.h"

#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

static const char *log_program = "";
static enum log_level log_level = LOG_LEVEL_INFO;
static unsigned int log_dropped;
static bool log_is_journal;
static bool log_is_limited;
static struct repeats log_repeats;
static struct log_recent log_recent[LOG_RECENT];
static unsigned int log_n_recent;

/* sd_daemon(3): the journal's own stream is named by its device and inode. */
static bool is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    uintmax_t device, inode;
    struct stat stat;

    return stream && sscanf(stream, "%ju:%ju", &device, &inode) == 2 &&
           fstat(STDERR_FILENO, &stat) == 0 && stat.st_dev == device && stat.st_ino == inode;
}

void log_init(const char *program)
{
    int fd;

    log_program = program;
    /*
     * A stream that the caller closed would become the next socket, and log lines would be sent to
     * the kernel. Read-only, so that writing fails and is noticed.
     */
    do
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
    /* A line is written at once, and not mixed with those of others. */
    setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
    signal(SIGPIPE, SIG_IGN);
    log_is_journal = is_journal();
}

void log_set_level(enum log_level level)
{
    log_level = level;
}

/* Whether a line can be written without blocking: a reader that stops must not stop the daemon. */
static bool is_writable(void)
{
    struct pollfd fd = { .fd = STDERR_FILENO, .events = POLLOUT };

    return poll(&fd, 1, 0) != 0;
}

static void write_prefix(enum log_level level)
{
    static const int priorities[] = { LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

    if (log_is_journal)
        fprintf(stderr, "<%d>", priorities[level]);
    else if (level == LOG_LEVEL_INFO)
        fprintf(stderr, "%s: ", log_program);
    else
        fprintf(stderr, "%s: %s: ", log_program, log_level_name(level));
}

static void write_line(enum log_level level, const char *format, va_list args, const char *suffix)
{
    if (!is_writable()) {
        log_dropped++;
        return;
    }
    if (log_dropped > 0) {
        write_prefix(LOG_LEVEL_INFO);
        fprintf(stderr, "%u lines were dropped: standard error was not read\n", log_dropped);
        log_dropped = 0;
        if (!is_writable())
            return;
    }
    write_prefix(level);
    vfprintf(stderr, format, args);
    fprintf(stderr, "%s\n", suffix);
}

void log_limit_repeats(void)
{
    log_is_limited = true;
}

/* Keeps lines for `riptide status`, also those that are not written. */
static void remember(enum log_level level, const char *format, va_list args)
{
    struct log_recent *recent = &log_recent[log_n_recent++ % LOG_RECENT];

    recent->time = time(NULL);
    recent->level = level;
    vsnprintf(recent->text, sizeof(recent->text), format, args);
}

const struct log_recent *log_get_recent(unsigned int n)
{
    unsigned int n_kept = log_n_recent < LOG_RECENT ? log_n_recent : LOG_RECENT;

    return n < n_kept ? &log_recent[(log_n_recent - n_kept + n) % LOG_RECENT] : NULL;
}

void log_line(enum log_level level, const char *format, ...)
{
    uint32_t n = 1; /* of its kind */
    va_list args;

    if (level <= LOG_LEVEL_WARNING) {
        va_start(args, format);
        remember(level, format, args);
        va_end(args);
    }
    /* With debug all lines are written. */
    if (log_is_limited && log_level != LOG_LEVEL_DEBUG && level <= log_level)
        n = repeats_count(&log_repeats, format, clock_read_ns(CLOCK_BOOTTIME));
    if (level > log_level || n > REPEATS_BURST)
        return;
    va_start(args, format);
    write_line(level, format, args,
               n == REPEATS_BURST ? " ... more like it are not written for a minute" : "");
    va_end(args);
}

void log_answer(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    write_line(LOG_LEVEL_INFO, format, args, "");
    va_end(args);
}

const char *log_error_text(const struct riptide_error *error, int code)
{
    return error->text[0] ? error->text : strerror(-code);
}

const char *log_device_name(uint32_t ifindex, char name[IF_NAMESIZE])
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:@-";

    if (!if_indextoname(ifindex, name)) {
        snprintf(name, IF_NAMESIZE, "#%u", ifindex);
        return name;
    }
    for (char *c = name; *c; c++) {
        if (!strchr(plain, *c))
            *c = '?';
    }
    return name;
}

int log_finish(int status)
{
    struct pollfd out = { .fd = STDOUT_FILENO };
    bool is_incomplete;
    int error;

    errno = 0;
    is_incomplete = fflush(stdout) != 0 || ferror(stdout);
    error = errno;
    /* The reader of a pipe that is gone (head, less) has what it wanted. */
    if (is_incomplete && poll(&out, 1, 0) > 0 && out.revents & POLLERR)
        return status;
    if (fclose(stdout) != 0 && !is_incomplete) {
        is_incomplete = true;
        error = errno;
    }
    if (!is_incomplete)
        return status;
    log_answer("standard output: %s", error ? strerror(error) : "the output is incomplete");
    return EXIT_FAILURE;
}
