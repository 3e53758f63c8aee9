/* SPDX-License-Identifier: MIT */
/*
 * A request on the control socket: one line of JSON in, one line of JSON out. Pure: what is asked
 * of the daemon goes through functions that a test or a fuzzer has of its own. docs/control.md says
 * what requests and answers look like.
 */
#ifndef CLI_REQUEST_H
#define CLI_REQUEST_H

#include <jansson.h>
#include <riptide/apply.h>
#include <riptide/compute.h>

/* Where the socket is by default. */
#define CONTROL_PATH "/run/riptide/control"

/* The longest line that a client may send, its newline included; and one with a state. */
#define REQUEST_MAX_BYTES       4096
#define REQUEST_MAX_STATE_BYTES (64 << 20)

/* Destinations that one answer walks over: a list of all of them is asked for in pages. */
#define REQUEST_PAGE 256

/* Of what has changed since then it walks over as many as that. */
#define REQUEST_WALK (16 * REQUEST_PAGE)

/* The most that other hosts of a site may count as, in connections; and the longest time. */
#define REQUEST_MAX_WEIGHT  1000
#define REQUEST_MAX_SITE_MS (INT64_C(1000) * 3600)

/* The longest time that a hint may hold: a year. */
#define REQUEST_MAX_HINT_MS (INT64_C(1000) * 3600 * 24 * 366)

/* One destination as the daemon knows it. */
struct request_row {
    struct riptide_route route;
    struct riptide_estimate estimate; /* cwnd 0: none */
    uint32_t initrwnd; /* that the program asks for, of PEER_MSS_BYTES each; 0: none */
};

/* What a hint is about. */
struct request_hinted {
    uint32_t destinations; /* known within its prefix */
    uint32_t cwnd_min;     /* no window goes below, segments */
};

/*
 * What a daemon says and does: answers.c's and changes.c's, or a test's. Objects are the caller's; NULL
 * without memory. Errors: -errno with a line.
 */
struct daemon;
json_t *daemon_status(struct daemon *daemon);
json_t *daemon_explain(struct daemon *daemon, const struct riptide_prefix *dst);
json_t *daemon_metrics(struct daemon *daemon);
json_t *daemon_hints(struct daemon *daemon);
json_t *daemon_verdict(struct daemon *daemon);
/* What is said beside a list of destinations; the next of them, false behind the last. */
json_t *daemon_list(struct daemon *daemon);
bool daemon_next(struct daemon *daemon, uint32_t *cursor, struct request_row *row);
/* The hint begins now and holds for for_ns. */
int daemon_hint(struct daemon *daemon, struct riptide_hint *hint, uint64_t for_ns,
                struct request_hinted *hinted, struct riptide_error *error);
/* Takes the hint for that prefix back. */
int daemon_unhint(struct daemon *daemon, const struct riptide_prefix *dst,
                  struct riptide_error *error);
int daemon_pause(struct daemon *daemon, bool is_paused, struct riptide_error *error);

/* Whether it is paused, and all that gives windows has taken that. */
bool daemon_is_off(const struct daemon *daemon);

/* Until windows are tried again; 0: they are given. */
double daemon_stepped_back_s(const struct daemon *daemon);
/* What is known, as text. */
json_t *daemon_save(struct daemon *daemon);
/*
 * Who has learned what: `life` of this process, its `revision`; and the destinations, NULL behind the
 * last (riptide_estimator_next_ladder). Its books, where those are not of `known` connections.
 */
json_t *daemon_learned(struct daemon *daemon);
const struct ladder *daemon_next_ladder(struct daemon *daemon, uint32_t *cursor,
                                        struct riptide_prefix *dst);
json_t *daemon_books(struct daemon *daemon, uint64_t known);
/* What others have: of a destination, as riptide_estimator_take_site; and for how long from now on. */
int daemon_take_site(struct daemon *daemon, const struct riptide_prefix *dst, const char *ladder,
                     double weight);
void daemon_keep_site(struct daemon *daemon, bool is_replacing, uint64_t for_ns);
/* The state joins what is known, or takes its place. */
int daemon_load(struct daemon *daemon, const char *state, size_t n, bool is_replacing,
                struct riptide_load_counts *counts, struct riptide_error *error);

/*
 * Reads the line (without its newline) and does what it asks for. Returns the answer, a line for
 * the caller to free, of *np bytes with its newline; errors are answers, too. NULL without memory.
 */
char *request_answer(struct daemon *daemon, const char *line, size_t n, bool may_change,
                     size_t *np);

/*
 * An answer that says no, for a client whose line is not even looked at. `is_served`: its network
 * namespace; where not, no other request would be answered either.
 */
char *request_refuse(const char *reason, bool is_served, size_t *np);

#endif
