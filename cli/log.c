/*
 * Standard error, and the end of standard output. Knows nothing of what is said.
 */
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *log_program = "";
static enum log_level log_level = LOG_LEVEL_INFO;
static unsigned int log_dropped;

void log_init(const char *program)
{
    int fd;

    log_program = program;
    /*
     * A stream that was closed by the caller would become the next socket, and lines of text would
     * be sent to the kernel. Read-only, so that writing fails and is noticed.
     */
    do
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
    /* A line is written at once, and not mixed with those of others. */
    setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
    signal(SIGPIPE, SIG_IGN);
}

void log_set_level(enum log_level level)
{
    log_level = level;
}

/* Whether a line can be written without waiting: a reader that sleeps must not stop a daemon. */
static bool is_writable(void)
{
    struct pollfd fd = { .fd = STDERR_FILENO, .events = POLLOUT };

    return poll(&fd, 1, 0) != 0;
}

static void write_line(const char *level, const char *format, va_list args)
{
    if (!is_writable()) {
        log_dropped++;
        return;
    }
    if (log_dropped > 0) {
        fprintf(stderr, "%s: %u lines were dropped, nobody read them\n", log_program, log_dropped);
        log_dropped = 0;
        if (!is_writable())
            return;
    }
    fprintf(stderr, "%s: %s%s", log_program, level, *level ? ": " : "");
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}

void log_line(enum log_level level, const char *format, ...)
{
    va_list args;

    if (level > log_level)
        return;
    va_start(args, format);
    write_line(level == LOG_LEVEL_INFO ? "" : log_level_name(level), format, args);
    va_end(args);
}

void log_answer(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    write_line("", format, args);
    va_end(args);
}

const char *log_error_text(const struct riptide_error *error, int code)
{
    return error->text[0] ? error->text : strerror(-code);
}

const char *log_device_name(uint32_t ifindex, char name[IF_NAMESIZE])
{
    if (!if_indextoname(ifindex, name))
        snprintf(name, IF_NAMESIZE, "#%u", ifindex);
    return name;
}

int log_finish(int status)
{
    bool failed = ferror(stdout);

    if (fclose(stdout)) {
        log_answer("standard output: %s", strerror(errno));
        return EXIT_FAILURE;
    }
    if (failed) {
        log_answer("standard output: not all could be written");
        return EXIT_FAILURE;
    }
    return status;
}
