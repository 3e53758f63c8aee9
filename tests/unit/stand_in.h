/* SPDX-License-Identifier: MIT */
/* A fake daemon for requests, which records what it was asked. */
#ifndef TESTS_UNIT_STAND_IN_H
#define TESTS_UNIT_STAND_IN_H

#include "request.h"

#include <stdio.h>

struct daemon {
    struct request request; /* the last one */
    unsigned int n_asked, n_changes;
};

static json_t *note(struct daemon *daemon, const struct request *request, bool is_change)
{
    daemon->request = *request;
    daemon->n_asked++;
    daemon->n_changes += is_change;
    return json_pack("{s:s}", "verb", request->verb);
}

static json_t *stand_in_read(struct daemon *daemon, const struct request *request,
                             struct riptide_error *error)
{
    (void)error;
    return note(daemon, request, false);
}

/* Refuses windows of 13 segments. */
static json_t *stand_in_change(struct daemon *daemon, const struct request *request,
                               struct riptide_error *error)
{
    if (request->cwnd_max != 13)
        return note(daemon, request, true);
    snprintf(error->text, sizeof(error->text), "no luck");
    return NULL;
}

static const struct verb stand_ins[] = {
    { .name = "status", .answer = stand_in_read },
    { .name = "show", .answer = stand_in_read },
    { .name = "explain", .answer = stand_in_read, .needs_dst = true },
    { .name = "hint", .answer = stand_in_change, .changes = true, .needs_dst = true },
    { .name = "pause", .answer = stand_in_change, .changes = true },
    { .name = NULL },
};

#endif
