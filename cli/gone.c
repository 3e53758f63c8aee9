/* SPDX-License-Identifier: MIT */
/*
 * What had one sensible value, and has none to choose any more. docs/decisions.md has the reasons.
 */
#include "options.h"

#include <stdio.h>
#include <string.h>

static const struct gone_row rows[] = {
    { "capacity-fraction", "0.5", "policy careful bounds its own growth" },
    { "closed-weight", "1", "--destroy-events=no leaves closed connections out" },
    { "drop-share", "1", "policy careful follows losses at once" },
    { "evidence", "1min", "evidence counts as long as policies say" },
    { "interface", NULL, "--scope, --local-port and --remote-port choose connections" },
    { "metrics-interval", "15s", "`riptide metrics` has the figures of now" },
    { "metrics-prefix", NULL, "`riptide show PREFIX --json` has the windows within a prefix" },
    { "paced", "no", "policy careful learns from losses what may leave at once" },
    { "percentile", "50", "policy paper is the mean" },
    { "slices", "1", "--max-share bounds what looks take" },
    { "smoothing", NULL, "each policy has its own" },
    { "socket-mark", NULL, "--scope, --local-port and --remote-port choose connections" },
    { "step-percent", "10%", "small moves are not written" },
    { "step-segments", "2", "small moves are not written" },
    { "window", "10min", "--history-weight is how much history counts" },
    { "window-percentile", "50", "--history-weight is how much history counts" },
};

const struct gone_row *gone_find(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strlen(rows[i].name) == len && !memcmp(rows[i].name, name, len))
            return &rows[i];
    }
    return NULL;
}

bool gone_holds(const struct gone_row *row, const char *value, char *text, size_t size)
{
    if (row->value && !strcmp(row->value, value))
        return true;
    snprintf(text, size, "is gone%s%s: %s", row->value ? ", and is always " : "",
             row->value ? row->value : "", row->instead);
    return false;
}

const char *gone_policy(const char *name)
{
    static const struct {
        const char *name, *line;
    } policies[] = {
        { "mean", "; it is gone: paper is the same" },
        { "max", "; it is gone: careful takes its place" },
        { "min", "; it is gone: careful takes its place" },
        { "traffic", "; it is gone: paper takes its place" },
        { "percentile", "; it is gone: paper takes its place" },
    };

    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
        if (!strcmp(policies[i].name, name))
            return policies[i].line;
    }
    return "";
}
