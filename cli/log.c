/* SPDX-License-Identifier: MIT */
/* Standard error, and the end of standard output. repeats.c selects repeated lines to drop. */
#include "log.h"

#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
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

/* Of a line: the library has at most 256. */
enum { LOG_TEXT_BYTES = 512 };

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

static const int priorities[] = { LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

static void put_field(FILE *out, const char *name, const char *value)
{
    if (value && *value)
        fprintf(out, "%s=%s\n", name, value);
}

/* systemd.journal-fields(7), by the journal's own protocol. False: write to standard error. */
static bool journal_send(enum log_level level, const struct log_fields *fields, const char *text)
{
    static const struct sockaddr_un journal = { AF_UNIX, "/run/systemd/journal/socket" };
    char bytes[2048];
    FILE *out = fmemopen(bytes, sizeof(bytes), "w");
    bool is_sent = false;
    long n;
    int fd;

    if (!out)
        return false;
    fprintf(out, "PRIORITY=%d\nSYSLOG_IDENTIFIER=%s\nMESSAGE=%s\n", priorities[level],
            log_program, text);
    put_field(out, "RIPTIDE_EVENT", fields->event);
    put_field(out, "RIPTIDE_DESTINATION", fields->destination);
    put_field(out, "RIPTIDE_REASON", fields->reason);
    if (fields->window > 0)
        fprintf(out, "RIPTIDE_WINDOW=%" PRIu32 "\n", fields->window);
    n = ftell(out);
    fclose(out);
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && n > 0)
        is_sent = sendto(fd, bytes, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL,
                         (const struct sockaddr *)&journal, sizeof(journal)) >= 0;
    if (fd >= 0)
        close(fd);
    return is_sent;
}

static void write_prefix(enum log_level level)
{
    if (log_is_journal)
        fprintf(stderr, "<%d>", priorities[level]);
    else if (level == LOG_LEVEL_INFO)
        fprintf(stderr, "%s: ", log_program);
    else
        fprintf(stderr, "%s: %s: ", log_program, log_level_name(level));
}

/* Breaks a long text between words. Returns the part that fits. */
static size_t fit(const char *text, size_t columns)
{
    size_t n = columns;

    if (strlen(text) <= columns)
        return strlen(text);
    while (n > 1 && text[n] != ' ')
        n--;
    return n > 1 ? n : columns;
}

/* The width of what write_prefix writes. */
static size_t prefix_columns(enum log_level level)
{
    if (log_is_journal)
        return strlen("<6>");
    if (level == LOG_LEVEL_INFO)
        return strlen(log_program) + strlen(": ");
    return strlen(log_program) + strlen(": ") + strlen(log_level_name(level)) + strlen(": ");
}

/* What continues a line follows two blanks. */
static void write_text(enum log_level level, const char *text)
{
    const size_t columns = LOG_COLUMNS - prefix_columns(level);
    size_t n = fit(text, columns);

    write_prefix(level);
    fprintf(stderr, "%.*s\n", (int)n, text);
    for (text += n; *text; text += n) {
        text += *text == ' ';
        n = fit(text, columns - 2);
        write_prefix(level);
        fprintf(stderr, "  %.*s\n", (int)n, text);
    }
}

static void write_line(enum log_level level, const struct log_fields *fields, const char *text)
{
    if (log_is_journal && journal_send(level, fields, text))
        return;
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
    write_text(level, text);
}

void log_limit_repeats(void)
{
    log_is_limited = true;
}

/* Keeps lines for `riptide status`, also those that are not written. */
static void remember(enum log_level level, const char *text)
{
    struct log_recent *recent = &log_recent[log_n_recent++ % LOG_RECENT];

    recent->time = time(NULL);
    recent->level = level;
    snprintf(recent->text, sizeof(recent->text), "%.255s", text);
}

const struct log_recent *log_get_recent(unsigned int n)
{
    unsigned int n_kept = log_n_recent < LOG_RECENT ? log_n_recent : LOG_RECENT;

    return n < n_kept ? &log_recent[(log_n_recent - n_kept + n) % LOG_RECENT] : NULL;
}

static void put_line(enum log_level level, const struct log_fields *fields, const char *format,
                     va_list args)
{
    char text[LOG_TEXT_BYTES];
    uint32_t n = 1; /* of its kind */

    if (level > log_level && level > LOG_LEVEL_WARNING)
        return;
    vsnprintf(text, sizeof(text), format, args);
    if (level <= LOG_LEVEL_WARNING)
        remember(level, text);
    /* With debug all lines are written. */
    if (log_is_limited && log_level != LOG_LEVEL_DEBUG && level <= log_level)
        n = repeats_count(&log_repeats, format, clock_read_ns(CLOCK_BOOTTIME));
    if (level > log_level || n > REPEATS_BURST)
        return;
    if (n == REPEATS_BURST)
        strncat(text, " ... more like it are not written for a minute",
                sizeof(text) - strlen(text) - 1);
    write_line(level, fields, text);
}

void log_line(enum log_level level, const char *format, ...)
{
    const struct log_fields none = { .event = NULL };
    va_list args;

    va_start(args, format);
    put_line(level, &none, format, args);
    va_end(args);
}

void log_event(enum log_level level, const struct log_fields *fields, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    put_line(level, fields, format, args);
    va_end(args);
}

void log_answer(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (is_writable()) {
        write_prefix(LOG_LEVEL_INFO);
        vfprintf(stderr, format, args);
        fputc('\n', stderr);
    }
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
