/* SPDX-License-Identifier: MIT */
/*
 * A daemon that is none, for requests: what it was asked to do is there to look at.
 */
#ifndef TESTS_UNIT_STAND_IN_H
#define TESTS_UNIT_STAND_IN_H

#include "request.h"
#include "lib/tools.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* What was asked of it. */
struct stand_in {
    uint32_t n_rows;
    bool has_reasons;
    bool is_paused;
    struct riptide_hint hint;
    unsigned int n_changes;
    uint64_t for_ns;
    char state[64]; /* the last one that it was given */
    bool is_replacing;
};

static inline json_t *stand_in_status(void *userdata)
{
    (void)userdata;
    return json_pack("{s:s}", "health", "ok");
}

static inline json_t *stand_in_metrics(void *userdata)
{
    (void)userdata;
    return json_pack("{s:s}", "metrics", "a_total 1\n# EOF\n");
}

static inline json_t *stand_in_explain(void *userdata, const struct riptide_prefix *dst)
{
    char text[RIPTIDE_PREFIX_TEXT_BYTES];

    (void)userdata;
    riptide_prefix_format(dst, text);
    return json_pack("{s:s}", "destination", text);
}

/* 10.0.0.0, 10.0.0.1, ... */
static inline bool stand_in_next(void *userdata, uint32_t *cursor, struct request_row *row)
{
    const struct stand_in *stand_in = userdata;
    uint32_t n = *cursor;

    if (n >= stand_in->n_rows)
        return false;
    ++*cursor;
    *row = (struct request_row){
        .route = { .dst = { AF_INET,
                            32,
                            { 10, (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n } },
                   .initcwnd = 30 },
        .estimate = { .cwnd = 31, .samples = 2 },
    };
    if (stand_in->has_reasons) {
        row->route.state = RIPTIDE_ROUTE_LEFT_ALONE;
        memset(row->route.reason, 1, sizeof(row->route.reason) - 1); /* six times as long in JSON */
    }
    return true;
}

static inline int stand_in_hint(void *userdata, struct riptide_hint *given, uint64_t for_ns,
                                struct request_hinted *hinted, struct riptide_error *error)
{
    struct stand_in *stand_in = userdata;

    if (given->cwnd_max == 13) {
        snprintf(error->text, sizeof(error->text), "no luck");
        return -EINVAL;
    }
    stand_in->n_changes++;
    stand_in->hint = *given;
    stand_in->for_ns = for_ns;
    *hinted = (struct request_hinted){ .destinations = 3, .cwnd_min = 10 };
    return 0;
}

static inline json_t *stand_in_hints(void *userdata)
{
    (void)userdata;
    return json_pack("{s:[]}", "hints");
}

static inline int stand_in_unhint(void *userdata, const struct riptide_prefix *dst,
                                  struct riptide_error *error)
{
    struct stand_in *stand_in = userdata;

    if (!riptide_prefix_equal(dst, &stand_in->hint.dst)) {
        snprintf(error->text, sizeof(error->text), "no such hint");
        return RIPTIDE_E_UNKNOWN;
    }
    stand_in->n_changes++;
    stand_in->hint.dst.family = 0;
    return 0;
}

static inline bool stand_in_is_paused(void *userdata)
{
    return ((struct stand_in *)userdata)->is_paused;
}

static inline int stand_in_pause(void *userdata, bool is_paused, struct riptide_error *error)
{
    (void)error;
    ((struct stand_in *)userdata)->n_changes++;
    ((struct stand_in *)userdata)->is_paused = is_paused;
    return 0;
}

static inline json_t *stand_in_save(void *userdata)
{
    ((struct stand_in *)userdata)->n_changes++;
    return json_pack("{s:s}", "state", "riptide state\n");
}

static inline int stand_in_load(void *userdata, const char *state, size_t n, bool is_replacing,
                                struct riptide_load_counts *counts, struct riptide_error *error)
{
    struct stand_in *stand_in = userdata;

    (void)error;
    stand_in->n_changes++;
    snprintf(stand_in->state, sizeof(stand_in->state), "%.*s", (int)n, state);
    stand_in->is_replacing = is_replacing;
    *counts = (struct riptide_load_counts){ .loaded = 5, .older = 2 };
    return 0;
}

static inline struct request_daemon stand_in_daemon(struct stand_in *stand_in)
{
    static const struct riptide_router_config router = { .step_segments = 2, .step_percent = 10 };

    return (struct request_daemon){
        .userdata = stand_in,
        .router = &router,
        .status = stand_in_status,
        .explain = stand_in_explain,
        .metrics = stand_in_metrics,
        .next = stand_in_next,
        .hints = stand_in_hints,
        .hint = stand_in_hint,
        .unhint = stand_in_unhint,
        .pause = stand_in_pause,
        .is_paused = stand_in_is_paused,
        .save = stand_in_save,
        .load = stand_in_load,
    };
}

#endif
