/* SPDX-License-Identifier: MIT */
/*
 * The table of checks, in the order in which somebody would put things right.
 */
#include "checks.h"

#include <stdarg.h>
#include <stdio.h>

static const struct {
    const char *name;
    check_fn *judge;
} checks[] = {
    { "kernel", check_kernel },
    { "sockets", check_sockets },
    { "namespace", check_namespace },
    { "daemon", check_daemon },
    { "numbers", check_numbers },
    { "rules", check_rules },
    { "networkd", check_networkd },
    { "vrf", check_vrf },
    { "destinations", check_destinations },
    { "receiver", check_receiver },
    { "pacing", check_pacing },
    { "idle-restart", check_idle },
};

const char *severity_name(enum severity severity)
{
    static const char *const names[] = { "ok", "note", "warning", "error" };

    return names[severity];
}

void finding_print(char *text, size_t size, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(text, size, format, args);
    va_end(args);
}

size_t checks_count(void)
{
    return sizeof(checks) / sizeof(checks[0]);
}

void checks_judge(size_t n, const struct host *host, struct finding *finding)
{
    *finding = (struct finding){ .check = checks[n].name, .severity = SEVERITY_OK };
    checks[n].judge(host, finding);
}
