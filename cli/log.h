/* SPDX-License-Identifier: MIT */
/*
 * Lines on standard error: what a program says about itself. What goes to standard output is the
 * commands' own, and log_finish notices where it did not get there.
 */
#ifndef CLI_LOG_H
#define CLI_LOG_H

#include "values.h"

#include <net/if.h>
#include <time.h>

/* Exit statuses of both programs, beside EXIT_SUCCESS and EXIT_FAILURE. */
#define EXIT_USAGE 2

#define NEEDS_NET_ADMIN                                                                            \
    "needs CAP_NET_ADMIN: run it as root, or give it the capability "                              \
    "(setcap cap_net_admin+ep, or AmbientCapabilities=CAP_NET_ADMIN in a systemd unit)"

/*
 * First thing in main: the program's name for every line, standard streams, SIGPIPE. Where standard
 * error is the journal, it wants a number for the level and knows the name.
 */
void log_init(const char *program);

void log_set_level(enum log_level level);

/* Lines are about that network namespace from now on, and say so; 0: about none in particular. */
void log_set_netns(uint64_t cookie);

/* From now on of a message that comes again and again only some are written: see struct repeats. */
void log_limit_repeats(void);

/* One line, with the level unless it is info. */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The last lines that said something is wrong, for those who ask later. */
enum { LOG_RECENT = 8 };

struct log_recent {
    time_t time; /* CLOCK_REALTIME */
    enum log_level level;
    char text[256]; /* cut where it is longer */
};

/* The n-th one kept, oldest first; NULL behind the newest. */
const struct log_recent *log_get_recent(unsigned int n);

/* One line without level, for what a command answers before or instead of its work. */
void log_answer(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The library's line, or the kernel's text where the library had none to give. */
const char *log_error_text(const struct riptide_error *error, int code);

/* The device's name, or its number where it is gone. */
const char *log_device_name(uint32_t ifindex, char name[IF_NAMESIZE]);

/* Last thing in main: the exit status, a failure if standard output did not take it all. */
int log_finish(int status);

/*
 * Which lines are written when one kind of message comes again and again: of each kind
 * REPEATS_BURST a minute, which begins with the first of them. A kind is the address of its format
 * string. Pure, in repeats.c.
 */
enum {
    REPEATS_BURST = 50,
    REPEATS_KINDS = 64, /* more than there are messages; one beyond that is always the first */
};

#define REPEATS_INTERVAL_NS UINT64_C(60000000000)

struct repeats {
    struct repeat {
        const void *kind; /* NULL: this one and those behind it are free */
        uint64_t since_ns;
        uint32_t n; /* lines since then */
    } kinds[REPEATS_KINDS];
};

/* Counts a line: the how manieth of its kind it is in its minute. */
uint32_t repeats_count(struct repeats *repeats, const void *kind, uint64_t now_ns);

#endif
