/* SPDX-License-Identifier: MIT */
/*
 * What doctor finds: one finding for each check. Pure: a host as it was read in, findings out.
 */
#ifndef CLI_DOCTOR_CHECKS_H
#define CLI_DOCTOR_CHECKS_H

#include "host.h"

#include <string.h>

enum severity { SEVERITY_OK, SEVERITY_NOTE, SEVERITY_WARNING, SEVERITY_ERROR };

struct finding {
    const char *check;
    enum severity severity;
    char summary[256];  /* one line: what it is */
    char evidence[384]; /* what was read, and where */
    char remedy[384];   /* the line to type or the file to write; empty: nothing to do */
};

const char *severity_name(enum severity severity);

/* Also where there is no route of ours: with `both`, as long as the program is on. */
static inline bool gives_without_routes(const struct host *host)
{
    return !strcmp(host->apply, "both") && !host->reason[0];
}

/*
 * What the single checks are made of, for the table in checks.c. Each fills a finding whose
 * severity is SEVERITY_OK and whose texts are empty.
 */
typedef void check_fn(const struct host *host, struct finding *finding);

/* What it is, what was read, and what to do about it; what does not fit is cut off. */
#define finding_is(finding, is, ...)                                                               \
    ((finding)->severity = (is), finding_say((finding)->summary, __VA_ARGS__))
#define finding_read(finding, ...) finding_say((finding)->evidence, __VA_ARGS__)
#define finding_do(finding, ...)   finding_say((finding)->remedy, __VA_ARGS__)
#define finding_say(text, ...)     finding_print(text, sizeof(text), __VA_ARGS__)

void finding_print(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* checks_routing.c */
check_fn check_daemon, check_numbers, check_rules, check_networkd, check_destinations;

/* How many checks there are, and what the n-th one finds. */
size_t checks_count(void);
void checks_judge(size_t n, const struct host *host, struct finding *finding);

#endif
