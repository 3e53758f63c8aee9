/* SPDX-License-Identifier: MIT */
/* How riptided is, and what to do. Where none answers, the kernel is asked. */
#ifndef CLI_STATE_H
#define CLI_STATE_H

#include "command.h"
#include "text.h"

struct state {
    json_t *status;            /* its answer, which the caller frees; NULL: none */
    int error;                 /* of asking it; 0: it has answered */
    int pid;                   /* of its socket; 0: not known */
    bool is_trouble;           /* windows should be given, and are not, or not all */
    struct riptide_error left; /* without an answer: rules and routes in the kernel, or empty */
    char line[96];             /* a sentence without its end; empty: it works */
    char why[TEXT_BYTES];
    char remedy[160];
};

void state_read(struct state *state, const struct command_options *options);

#endif
