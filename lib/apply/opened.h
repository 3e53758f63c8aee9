/* SPDX-License-Identifier: MIT */
/*
 * With which window a connection opened: the reader's side of the program's notes, which are in
 * memory that both share (struct window_common). Pure.
 *
 * The program may replace an old note at any time. So a note is changed only where it still is what
 * was read (compare-and-swap), and nothing is done to one that took its place.
 */
#ifndef RIPTIDE_LIB_APPLY_OPENED_H
#define RIPTIDE_LIB_APPLY_OPENED_H

#include "apply/program/window.h"

#include <riptide/observe.h>
#include <stdbool.h>
#include <stdint.h>

/* What a note says of a connection. */
struct opening {
    uint32_t initcwnd; /* the window that it was given, segments; 0: it was held out */
    /* Connections to the destination that opened in the round trip up to it, itself included; 63:
       as many or more; 0: no round trip time was known. */
    uint32_t together;
    enum arm arm;
    enum holdout_phase phase; /* as it opened */
    bool is_paced;            /* the program paces its first flight */
    bool is_counted;          /* its first flight has counted: opened_set_counted() */
};

/* A note of the table, as it was read. */
struct note {
    __u64 *slot; /* NULL: there is none */
    __u64 value;
};

/*
 * Finds the note of the connection whose socket has this cookie. `seed` is that of the program. Of
 * connections that have no note one in a million finds another's.
 */
struct note opened_find(struct window_common *common, uint64_t cookie, uint64_t seed);

/* Decodes the value of a note. */
struct opening opened_decode(uint64_t value);

/*
 * The next three functions change a note of the table. They return false where it was replaced
 * since it was read; its slot is then NULL.
 */

/*
 * The connection was open at now_ns (CLOCK_MONOTONIC), so its note is to be kept from then on.
 * Writes only where the note's time is more than 8 s off.
 */
bool opened_refresh(struct note *note, uint64_t now_ns);

/* The connection's first flight has counted, which later reads show. */
bool opened_set_counted(struct note *note);

/* The connection has closed: removes its note. */
bool opened_free(struct note *note);

/*
 * Fills in a sample of a connection by its note: initcwnd, arm, phase, together, paced, and
 * flight_ended in the first sample after its first flight. The note is renewed, or removed with a
 * sample that is `closed`. now_ns: of CLOCK_MONOTONIC, up to some seconds old.
 */
void opened_by_note(struct note *note, struct riptide_sample *sample, uint64_t now_ns);

/*
 * Fills in a sample of a connection by a route: initcwnd, and flight_ended. The route has a window
 * of initcwnd segments. It and the rule that leads to it have been in the kernel since since_ns.
 *
 * A connection that opened before that has another window, and its sample stays as it is. The age
 * of a connection is at least its time with data in flight and the time since it last sent. One
 * that an earlier dump has shown may be of any age: only the first sample of a connection is filled
 * in. since_ns and now_ns are of CLOCK_BOOTTIME.
 */
void opened_by_route(struct riptide_sample *sample, uint32_t initcwnd, uint64_t since_ns,
                     uint64_t now_ns);

#endif
