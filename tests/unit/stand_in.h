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

#define ANSWER(name, is_change)                                                                    \
    json_t *name(struct daemon *daemon, const struct request *request,                             \
                 struct riptide_error *error)                                                      \
    {                                                                                              \
        (void)error;                                                                               \
        return note(daemon, request, is_change);                                                   \
    }

ANSWER(answer_status, false)
ANSWER(answer_verdict, false)
ANSWER(answer_history, false)
ANSWER(answer_metrics, false)
ANSWER(answer_show, false)
ANSWER(answer_explain, false)
ANSWER(answer_hints, false)
ANSWER(answer_unhint, true)
ANSWER(answer_pause, true)

json_t *answer_hint(struct daemon *daemon, const struct request *request,
                    struct riptide_error *error)
{
    if (request->cwnd_max != 13)
        return note(daemon, request, true);
    snprintf(error->text, sizeof(error->text), "no luck");
    return NULL;
}

#endif
