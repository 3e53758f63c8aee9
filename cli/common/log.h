/* SPDX-License-Identifier: MIT */
/*
 * Lines on standard error: messages of a program. Standard output has the results of commands;
 * log_finish detects if they were not written completely.
 */
#ifndef CLI_LOG_H
#define CLI_LOG_H

#include "options.h"

/* Exit statuses of both programs, besides EXIT_SUCCESS and EXIT_FAILURE. */
#define EXIT_USAGE 2

#define NEEDS_NET_ADMIN "needs CAP_NET_ADMIN: run it as root"

/*
 * First call in main: the program's name for every line, standard streams, SIGPIPE. If standard
 * error is the journal, lines go there with their fields.
 */
void log_init(const char *program);

/* The least urgent that is written; as one of log-level. */
void log_set_level(int level);

/*
 * Lines are lost where their reader has stopped, which must not stop a daemon. From this call on
 * they wait for it, as they are the result of a command.
 */
void log_wait_for_reader(void);

/*
 * What a line is about, as fields of the journal: RIPTIDE_EVENT, RIPTIDE_DESTINATION,
 * RIPTIDE_WINDOW, RIPTIDE_REASON. NULL, 0: none.
 */
struct log_fields {
    const char *event;
    const char *destination;
    uint32_t window; /* segments */
    const char *reason;
};

/*
 * One line, with the name of its level, but not for LOG_INFO, nor for LOG_CRIT, by which a program
 * tells its user why it does not do what was asked.
 */
void log_event(int level, const struct log_fields *fields, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define log_line(level, ...) log_event(level, &(struct log_fields){ .event = NULL }, __VA_ARGS__)

/* The library's line, or the kernel's text if the library had none. */
const char *log_error_text(const struct riptide_error *error, int code);

/*
 * Last call in main: the exit status, a failure if standard output was not written completely, but
 * not if its reader has gone.
 */
int log_finish(int status);

#endif
