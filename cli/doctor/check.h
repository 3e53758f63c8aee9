/* SPDX-License-Identifier: MIT */
/*
 * The single checks, by what they are about, for the table in checks.c. Each fills a finding whose
 * severity is SEVERITY_OK and whose texts are empty.
 */
#ifndef CLI_DOCTOR_CHECK_H
#define CLI_DOCTOR_CHECK_H

#include "checks.h"

typedef void check_fn(const struct host *host, struct finding *finding);

/* What it is, what was read, and what to do about it; what does not fit is cut off. */
void finding_is(struct finding *finding, enum severity severity, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void finding_read(struct finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void finding_do(struct finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* checks_kernel.c */
check_fn check_kernel, check_sockets, check_namespace, check_vrf;

/* checks_routing.c */
check_fn check_daemon, check_numbers, check_rules, check_networkd, check_destinations;

/* checks_flight.c */
check_fn check_receiver, check_pacing, check_idle;

#endif
