/* SPDX-License-Identifier: MIT */
/*
 * A request on the control socket: one line of JSON in, one document of JSON out. Pure: a test or a
 * fuzzer replaces the functions that answer. docs/control.md describes requests and answers.
 */
#ifndef CLI_REQUEST_H
#define CLI_REQUEST_H

#include <jansson.h>
#include <riptide/riptide.h>

/* The default path of the socket. */
#define CONTROL_PATH "/run/riptide/control"

/* The longest line of a client, including its newline. */
#define REQUEST_MAX_BYTES 4096

/* The longest time of a hint: a year. */
#define REQUEST_MAX_HINT_MS (INT64_C(1000) * 3600 * 24 * 366)

struct daemon;

/* The members of a request; each verb uses some. */
struct request {
    const char *verb;
    struct riptide_prefix dst; /* family 0: none */
    json_int_t from;
    json_int_t cwnd_max;
    int off;
    json_int_t for_ms;
};

/* The caller frees the answer. NULL: refused, with a line, or no memory. */
typedef json_t *request_function(struct daemon *daemon, const struct request *request,
                                 struct riptide_error *error);

/* In answers.c, destinations.c and hints.c; or a test's. */
request_function answer_status, answer_verdict, answer_history, answer_metrics, answer_show,
    answer_explain, answer_hints, answer_hint, answer_unhint, answer_pause;

/*
 * Reads the line (without its newline) and processes it. Returns the answer, which the caller
 * frees; errors are answers, too. NULL: no memory.
 */
char *request_answer(struct daemon *daemon, const char *line, size_t n, bool may_change);

/* An answer that refuses a client whose line is not read. */
char *request_refuse(const char *reason);

#endif
