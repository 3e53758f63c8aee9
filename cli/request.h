/* SPDX-License-Identifier: MIT */
/*
 * A request on the control socket: one line of JSON in, one document of JSON out. Pure: the daemon is
 * reached through functions that a test or a fuzzer replaces. docs/control.md describes requests
 * and answers.
 */
#ifndef CLI_REQUEST_H
#define CLI_REQUEST_H

#include <jansson.h>
#include <riptide/apply.h>
#include <riptide/compute.h>

/* The default path of the socket. */
#define CONTROL_PATH "/run/riptide/control"

/* The longest line of a client, including its newline. */
#define REQUEST_MAX_BYTES 4096

/* Destinations in one answer: a list of all is requested in pages. */
#define REQUEST_PAGE 256

/* The longest time of a hint: a year. */
#define REQUEST_MAX_HINT_MS (INT64_C(1000) * 3600 * 24 * 366)

/* A destination of the daemon. */
struct request_row {
    struct riptide_prefix dst;
    uint32_t window;      /* with which connections start, segments; 0: with the kernel's own */
    const char *by;       /* "route", "program", "both"; "-": nothing */
    uint32_t connections; /* that counted last */
    uint32_t min_rtt_us;  /* 0: unknown */
    char reason[128];     /* why nothing gives a window; empty: something does */
};

/*
 * The daemon's functions: in answers.c and hints.c, or a test's. The caller frees objects; NULL:
 * no memory. Errors: -errno with a line.
 */
struct daemon;
json_t *daemon_status(struct daemon *daemon);
json_t *daemon_explain(struct daemon *daemon, const struct riptide_prefix *dst);
json_t *daemon_metrics(struct daemon *daemon);
json_t *daemon_hints(struct daemon *daemon);
json_t *daemon_verdict(struct daemon *daemon);
json_t *daemon_history(struct daemon *daemon);
/* The members of a list of destinations; the next destination, false after the last. */
json_t *daemon_list(struct daemon *daemon);
bool daemon_next(struct daemon *daemon, uint32_t *cursor, struct request_row *row);
/* The hint begins now and ends after for_ns. Sets how many destinations are known within. */
int daemon_hint(struct daemon *daemon, struct riptide_hint *hint, uint64_t for_ns,
                uint32_t *destinations, struct riptide_error *error);
/* Removes the hint for that prefix. */
int daemon_unhint(struct daemon *daemon, const struct riptide_prefix *dst,
                  struct riptide_error *error);
/*
 * Whether the last change is in a state file, which keeps it over a restart; else sets why not,
 * NULL: no file is configured.
 */
bool daemon_keeps_state(const struct daemon *daemon, const char **reasonp);
int daemon_pause(struct daemon *daemon, bool is_paused, struct riptide_error *error);

/* Time until windows are tried again; 0: they are given. */
double daemon_suspended_s(const struct daemon *daemon);
/*
 * Reads the line (without its newline) and processes it. Returns the answer, a line of *np bytes
 * including its newline, which the caller frees; errors are answers, too. NULL: no memory.
 */
char *request_answer(struct daemon *daemon, const char *line, size_t n, bool may_change,
                     size_t *np);

/* An answer that refuses a client whose line is not read. */
char *request_refuse(const char *reason, size_t *np);

#endif
