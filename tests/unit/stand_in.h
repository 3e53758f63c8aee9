/* SPDX-License-Identifier: MIT */
/* A fake daemon for requests, which records what it was asked to do. */
#ifndef TESTS_UNIT_STAND_IN_H
#define TESTS_UNIT_STAND_IN_H

#include "request.h"
#include "prefixes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* What was asked of it. */
struct daemon {
    /* Other answers than those below, where a test has them. */
    json_t *(*explain)(struct daemon *daemon, const struct riptide_prefix *dst);
    json_t *(*hints)(struct daemon *daemon);
    bool (*next)(struct daemon *daemon, uint32_t *cursor, struct request_row *row);
    uint32_t n_rows;
    bool has_reasons;
    bool is_paused;
    struct riptide_hint hint;
    unsigned int n_changes;
    uint64_t for_ns;
};

json_t *daemon_status(struct daemon *daemon)
{
    (void)daemon;
    return json_pack("{s:s}", "health", "ok");
}

json_t *daemon_metrics(struct daemon *daemon)
{
    (void)daemon;
    return json_pack("{s:s}", "metrics", "a_total 1\n# EOF\n");
}

json_t *daemon_history(struct daemon *daemon)
{
    (void)daemon;
    return json_pack("{s:[]}", "hours");
}

json_t *daemon_verdict(struct daemon *daemon)
{
    (void)daemon;
    return json_pack("{s:s}", "reason", "nothing");
}

json_t *daemon_explain(struct daemon *daemon, const struct riptide_prefix *dst)
{
    char text[RIPTIDE_PREFIX_TEXT_BYTES];

    if (daemon->explain)
        return daemon->explain(daemon, dst);
    riptide_prefix_format(dst, text);
    return json_pack("{s:s}", "destination", text);
}

/* 10.0.0.0, 10.0.0.1, ... */
bool daemon_next(struct daemon *daemon, uint32_t *cursor, struct request_row *row)
{
    uint32_t n = *cursor;

    if (daemon->next)
        return daemon->next(daemon, cursor, row);
    if (n >= daemon->n_rows)
        return false;
    ++*cursor;
    *row = (struct request_row){
        .dst = { AF_INET, 32, { 10, (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n } },
        .window = 30,
        .by = "route",
        .connections = 2,
    };
    if (daemon->has_reasons)
        memset(row->reason, 1, sizeof(row->reason) - 1); /* six times as long in JSON */
    return true;
}

int daemon_hint(struct daemon *daemon, struct riptide_hint *given, uint64_t for_ns,
                                uint32_t *destinations, struct riptide_error *error)
{
    if (given->cwnd_max == 13) {
        snprintf(error->text, sizeof(error->text), "no luck");
        return -EINVAL;
    }
    daemon->n_changes++;
    daemon->hint = *given;
    daemon->for_ns = for_ns;
    *destinations = 3;
    return 0;
}

bool daemon_keeps_state(const struct daemon *daemon, const char **reasonp)
{
    (void)daemon;
    *reasonp = NULL;
    return true;
}

json_t *daemon_hints(struct daemon *daemon)
{
    return daemon->hints ? daemon->hints(daemon) : json_pack("{s:[]}", "hints");
}

int daemon_unhint(struct daemon *daemon, const struct riptide_prefix *dst,
                                  struct riptide_error *error)
{

    if (!prefix_equals(dst, &daemon->hint.dst)) {
        snprintf(error->text, sizeof(error->text), "no such hint");
        return RIPTIDE_E_UNKNOWN;
    }
    daemon->n_changes++;
    daemon->hint.dst.family = 0;
    return 0;
}

json_t *daemon_list(struct daemon *daemon)
{
    return json_pack("{s:s?}", "off", daemon->is_paused ? "paused" : NULL);
}

double daemon_suspended_s(const struct daemon *daemon)
{
    (void)daemon;
    return 0;
}

int daemon_pause(struct daemon *daemon, bool is_paused, struct riptide_error *error)
{
    (void)error;
    daemon->n_changes++;
    daemon->is_paused = is_paused;
    return 0;
}

#endif
