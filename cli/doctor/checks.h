/* SPDX-License-Identifier: MIT */
/*
 * What doctor finds: one finding for each check. Pure: a host as it was read in, findings out.
 */
#ifndef CLI_DOCTOR_CHECKS_H
#define CLI_DOCTOR_CHECKS_H

#include "host.h"

enum severity { SEVERITY_OK, SEVERITY_NOTE, SEVERITY_WARNING, SEVERITY_ERROR };

struct finding {
    const char *check;
    enum severity severity;
    char summary[256];  /* one line: what it is */
    char evidence[384]; /* what was read, and where */
    char remedy[384];   /* the line to type or the file to write; empty: nothing to do */
};

const char *severity_name(enum severity severity);

/* How many checks there are, and what the n-th one finds. */
size_t checks_count(void);
void checks_judge(size_t n, const struct host *host, struct finding *finding);

#endif
