/* SPDX-License-Identifier: MIT */
/* Standard error or the journal, and the end of standard output. */
#include "log.h"

#include "text.h"

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
#include <unistd.h>

static const char *log_program = "";
static int log_level = LOG_INFO;
static bool log_is_journal;
static int log_wait_ms; /* for a reader; below 0: until it reads */

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

void log_set_level(int level)
{
    log_level = level;
}

void log_wait_for_reader(void)
{
    log_wait_ms = -1;
}

static void put_field(FILE *out, const char *name, const char *value)
{
    if (value && *value)
        fprintf(out, "%s=%s\n", name, value);
}

/* systemd.journal-fields(7), in one datagram at the end. False: it is not there. */
static bool journal_send(int level, const struct log_fields *fields, const char *text)
{
    static const struct sockaddr_un journal = { AF_UNIX, "/run/systemd/journal/socket" };
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    FILE *out = NULL;

    if (fd >= 0 && connect(fd, (const struct sockaddr *)&journal, sizeof(journal)) == 0)
        out = fdopen(fd, "w");
    if (!out && fd >= 0)
        close(fd);
    if (!out)
        return false;
    fprintf(out, "PRIORITY=%d\nSYSLOG_IDENTIFIER=%s\nMESSAGE=%s\n",
            level > LOG_ERR ? level : LOG_ERR, log_program, text);
    put_field(out, "RIPTIDE_EVENT", fields->event);
    put_field(out, "RIPTIDE_DESTINATION", fields->destination);
    put_field(out, "RIPTIDE_REASON", fields->reason);
    if (fields->window > 0)
        fprintf(out, "RIPTIDE_WINDOW=%" PRIu32 "\n", fields->window);
    return fclose(out) == 0;
}

void log_event(int level, const struct log_fields *fields, const char *format, ...)
{
    const bool is_named = level != LOG_INFO && level != LOG_CRIT;
    char text[TEXT_BYTES], line[TEXT_BYTES + 64];
    struct pollfd out = { .fd = STDERR_FILENO, .events = POLLOUT };
    va_list args;

    if (level > log_level)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if ((log_is_journal && journal_send(level, fields, text)) || poll(&out, 1, log_wait_ms) == 0)
        return;
    snprintf(line, sizeof(line), "%s: %s%s%s", log_program, is_named ? log_level_name(level) : "",
             is_named ? ": " : "", text);
    text_wrap(stderr, LOG_COLUMNS, 0, 2, line);
}

const char *log_error_text(const struct riptide_error *error, int code)
{
    return error->text[0] ? error->text : strerror(-code);
}

int log_finish(int status)
{
    struct pollfd out = { .fd = STDOUT_FILENO };
    int code;

    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    code = errno;
    /* The reader of a pipe that is gone (head, less) has what it wanted. */
    if (poll(&out, 1, 0) > 0 && out.revents & POLLERR)
        return status;
    log_line(LOG_CRIT, "standard output: %s", code ? strerror(code) : "the output is incomplete");
    return EXIT_FAILURE;
}
