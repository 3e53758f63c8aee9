/* SPDX-License-Identifier: MIT */
/* The findings of doctor, one for each check. Pure: a host's facts in, findings out. */
#ifndef CLI_DOCTOR_CHECKS_H
#define CLI_DOCTOR_CHECKS_H

#include "host.h"

#include <string.h>

enum severity { SEVERITY_OK, SEVERITY_NOTE, SEVERITY_WARNING, SEVERITY_ERROR };

struct finding {
    const char *check;
    enum severity severity;
    char summary[256];  /* one line: the finding */
    char evidence[384]; /* the facts, with their source */
    char remedy[384];   /* the command to type or the file to write; empty: none */
};

const char *severity_name(enum severity severity);

/* Even without a route of ours: with `both`, while the program is on. */
static inline bool gives_without_routes(const struct host *host)
{
    return !strcmp(host->apply, "both") && !host->reason[0];
}

/* The checks for the table in checks.c. Each fills a finding with SEVERITY_OK and empty texts. */
typedef void check_fn(const struct host *host, struct finding *finding);

/* Set severity and summary, evidence, remedy; longer text is cut off. */
#define finding_is(finding, is, ...)                                                               \
    ((finding)->severity = (is), finding_say((finding)->summary, __VA_ARGS__))
#define finding_read(finding, ...) finding_say((finding)->evidence, __VA_ARGS__)
#define finding_do(finding, ...)   finding_say((finding)->remedy, __VA_ARGS__)
#define finding_say(text, ...)     finding_print(text, sizeof(text), __VA_ARGS__)

void finding_print(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* checks_routing.c */
check_fn check_daemon, check_numbers, check_rules, check_networkd, check_destinations;

/* The number of checks, and the finding of the n-th one. */
size_t checks_count(void);
void checks_judge(size_t n, const struct host *host, struct finding *finding);

#endif
