/* SPDX-License-Identifier: MIT */
/*
 * A request on the control socket: one line of JSON in, one document of JSON out. Pure: the
 * functions that answer are the caller's. docs/control.md describes requests and answers.
 */
#ifndef CLI_REQUEST_H
#define CLI_REQUEST_H

#include <jansson.h>
#include <riptide/riptide.h>

/* The longest line of a client, including its newline. */
#define REQUEST_MAX_BYTES 4096

struct daemon;

/* The members of a request; each verb uses some. */
struct request {
    const char *verb;
    struct riptide_prefix dst; /* family 0: none */
    json_int_t from;
    json_int_t cookie;
    json_int_t busy_time_us; /* with the next one of a connection's sample; -1: not given */
    json_int_t last_data_sent_ms;
    json_int_t cwnd_max;
    int off;
    json_int_t for_ms;
};

/* The caller frees the answer. NULL: refused, with a line, or no memory. */
typedef json_t *request_function(struct daemon *daemon, const struct request *request,
                                 struct riptide_error *error);

/* A table of them ends with a nameless one. */
struct verb {
    const char *name;
    request_function *answer;
    bool changes; /* only for root and the control group */
    bool needs_dst;
};

/*
 * Reads the line (without its newline) and processes it. Returns the answer, which the caller
 * frees; errors are answers, too. NULL: no memory.
 */
char *request_answer(const struct verb *verbs, struct daemon *daemon, const char *line, size_t n,
                     bool may_change);

/* An answer that refuses a client whose line is not read. */
char *request_refuse(const char *reason);

#endif
