/* SPDX-License-Identifier: MIT */
/*
 * A request on the control socket: one line of JSON in, one line of JSON out, in pieces. Pure: what
 * is asked of the daemon goes through an interface, which a test or a fuzzer can stand in for.
 * docs/control.md says what requests and answers look like.
 */
#ifndef CLI_REQUEST_H
#define CLI_REQUEST_H

#include <jansson.h>
#include <riptide/apply.h>
#include <riptide/compute.h>

/* Where the socket is, unless told otherwise. */
#define CONTROL_PATH "/run/riptide/control"

/* The longest line that a client may send, its newline included. */
#define REQUEST_MAX_BYTES 4096

/* The smallest room for a piece of an answer. */
#define REQUEST_PIECE_BYTES 8192

/* The longest time that a hint may hold: a year. */
#define REQUEST_MAX_HINT_MS (INT64_C(1000) * 3600 * 24 * 366)

/* One destination as the daemon knows it. */
struct request_row {
    struct riptide_route route;
    struct riptide_estimate estimate; /* cwnd 0: none */
};

/* What a hint is about. */
struct request_hinted {
    uint32_t destinations; /* known within its prefix */
    uint32_t cwnd_min;     /* no window goes below, segments */
};

/* What a daemon can be asked to say and to do. Errors: -errno with a line. */
struct request_daemon {
    void *userdata;
    const struct riptide_router_config *router; /* as it is at the moment */
    /* An object, the caller's; NULL without memory. */
    json_t *(*status)(void *userdata);
    json_t *(*explain)(void *userdata, const struct riptide_prefix *dst);
    json_t *(*metrics)(void *userdata);
    json_t *(*hints)(void *userdata);
    /* Walks over the destinations; false behind the last. */
    bool (*next)(void *userdata, uint32_t *cursor, struct request_row *row);
    /* The hint begins now and holds for for_ns. */
    int (*hint)(void *userdata, struct riptide_hint *hint, uint64_t for_ns,
                struct request_hinted *hinted, struct riptide_error *error);
    /* Takes the hint for that prefix back. */
    int (*unhint)(void *userdata, const struct riptide_prefix *dst, struct riptide_error *error);
    int (*pause)(void *userdata, bool is_paused, struct riptide_error *error);
    bool (*is_paused)(void *userdata);
    /* An fd that holds the state, the caller's. */
    int (*save)(void *userdata, int *fdp, struct riptide_error *error);
    /* The state that an fd holds joins what is known, or takes its place. */
    int (*load)(void *userdata, int fd, bool is_replacing, struct riptide_load_counts *counts,
                struct riptide_error *error);
};

/* Who asks. */
struct request_caller {
    bool may_change;
    int fd; /* that came with the request; -1: none */
};

/* A request whose answer is under way. */
struct request {
    char *text; /* what there is to say beside the rows, newline included */
    size_t n_text;
    size_t n_told;
    bool is_listing; /* rows are to come behind the text's first bracket */
    bool is_first;
    struct riptide_prefix within; /* of a listing; family 0: all */
    uint32_t cursor;
    int fd; /* goes with the answer; -1: none */
};

/* Reads the line (without its newline) and does what it asks for. Errors are answers, too. */
void request_begin(struct request *request, const struct request_daemon *daemon, const char *line,
                   size_t n, const struct request_caller *caller);

/* An answer that says no, for a client whose line is not even looked at. */
void request_refuse(struct request *request, const char *reason);

/*
 * Writes the next piece of the answer, of at least REQUEST_PIECE_BYTES room. Returns its bytes,
 * which may be none; *is_donep says whether it was the last.
 */
size_t request_read(struct request *request, const struct request_daemon *daemon, char *piece,
                    size_t size, bool *is_donep);

/* Frees what is left of it, and closes nothing. */
void request_end(struct request *request);

#endif
