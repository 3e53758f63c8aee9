/* SPDX-License-Identifier: MIT */
/* The latest changes of windows, for `riptide show DST`. Pure. */
#ifndef CLI_CHANGES_H
#define CLI_CHANGES_H

#include <jansson.h>
#include <riptide/apply.h>
#include <time.h>

/* Destinations that are remembered, and changes of each, as many as `riptide show` has room for. */
enum { CHANGES = 128, CHANGES_OF_ONE = 4 };

struct change {
    time_t time; /* CLOCK_REALTIME; 0: none */
    struct riptide_route route;
};

struct destination_changes {
    struct change latest[CHANGES_OF_ONE]; /* newest first */
};

/* A new destination takes the place of the one that came first. */
struct changes {
    struct destination_changes list[CHANGES];
    size_t n; /* destinations so far */
};

/* Keeps a change at that time, unless state, window and reasons are those of the last one. */
void changes_note(struct changes *changes, const struct riptide_route *route, time_t now);

/* The bound of the window that a backend has of a destination; NONE also where it is not known. */
enum riptide_reason changes_find_bound(struct changes *changes, const struct riptide_route *route);

/* Those of a destination as docs/control.md describes them, newest first. NULL: no memory. */
json_t *changes_json(struct changes *changes, const struct riptide_prefix *dst);

#endif
