/* SPDX-License-Identifier: MIT */
/*
 * Any sequence of samples, times, hints, configurations and states: no window outside its bounds or
 * past its time to live, no more destinations than configured, what is given is withdrawn again,
 * what is told is what is known, and what is saved loads as the same.
 */
#include "estimator.h"

#include "prefix.h"
#include "target.h"

enum { MAX_TOLD = 1024 };

/* What a host has been told by the changes that it popped. */
struct told {
    struct riptide_prefix dst;
    uint32_t cwnd;
};

struct run {
    struct riptide_estimator *estimator;
    struct drawn_config drawn;
    uint64_t now_ns;
    bool has_ticked;
    bool has_hints;
    struct told told[MAX_TOLD];
    size_t n_told;
};

static struct told *told_of(struct run *run, const struct riptide_prefix *dst)
{
    for (size_t i = 0; i < run->n_told; i++) {
        if (riptide_prefix_equal(&run->told[i].dst, dst))
            return &run->told[i];
    }
    CASE_CHECK(run->n_told < MAX_TOLD);
    run->told[run->n_told].dst = *dst;
    return &run->told[run->n_told++];
}

/* The bounds as the configuration says them; a hint never lowers the first. */
static void check_bounds(const struct run *run, const struct riptide_estimate *estimate)
{
    const struct riptide_estimator_config *config = &run->drawn.config;
    uint32_t min = config->cwnd_min, max = config->cwnd_max;
    int len = -1;

    for (size_t i = 0; i < config->n_overrides; i++) {
        const struct riptide_override *override = &config->overrides[i];

        if (!riptide_prefix_contains(&override->dst, &estimate->dst) || override->dst.len <= len)
            continue;
        len = override->dst.len;
        min = override->cwnd_min ? override->cwnd_min : config->cwnd_min;
        max = override->cwnd_max ? override->cwnd_max : config->cwnd_max;
    }
    CASE_CHECK(min >= 1 && max <= RIPTIDE_CWND_LIMIT);
    CASE_CHECK(estimate->cwnd >= min && estimate->cwnd <= max);
    CASE_CHECK(estimate->cwnd_max >= min && estimate->cwnd_max <= max);
    CASE_CHECK(estimate->cwnd <= estimate->cwnd_max);
}

static void pop(struct run *run, uint32_t n)
{
    const struct riptide_estimate *estimate;

    while (n-- > 0 && riptide_estimator_pop(run->estimator, &estimate) == 0) {
        struct told *told = told_of(run, &estimate->dst);

        if (estimate->cwnd > 0) {
            check_bounds(run, estimate);
            CASE_CHECK(estimate->expires_ns > run->now_ns);
        } else {
            CASE_CHECK(told->cwnd > 0);
        }
        told->cwnd = estimate->cwnd;
    }
}

static void check_told(const struct run *run)
{
    struct riptide_estimator_stats stats;

    for (size_t i = 0; i < run->n_told; i++) {
        struct riptide_estimate known = { .cwnd = 0 };

        riptide_estimator_find(run->estimator, &run->told[i].dst, &known);
        CASE_CHECK(known.cwnd == run->told[i].cwnd);
    }
    riptide_estimator_get_stats(run->estimator, &stats, sizeof(stats));
    CASE_CHECK(stats.destinations <= run->drawn.config.max_destinations);
}

static void check_lifetimes(const struct run *run)
{
    const struct riptide_estimator_config *config = &run->drawn.config;
    struct riptide_explanation why;
    struct riptide_estimate known;
    uint32_t cursor = 0;

    while (riptide_estimator_next(run->estimator, &cursor, &known) == 0) {
        check_bounds(run, &known);
        CASE_CHECK(known.updated_ns <= run->now_ns);
        CASE_CHECK(run->now_ns - known.updated_ns < config->ttl_ns);
        CASE_CHECK(riptide_estimator_explain(run->estimator, &known.dst, &why, sizeof(why)) == 0);
        CASE_CHECK(why.cwnd == known.cwnd && why.smoothed == known.smoothed);
        CASE_CHECK(why.cwnd_min <= why.cwnd && why.cwnd <= why.cwnd_max);
    }
}

static void tick(struct run *run, struct case_bytes *bytes)
{
    uint8_t how = case_u8(bytes);
    uint64_t step = how & 1 ? case_u32(bytes) * UINT64_C(1000) : how * ns_per_s / 4;

    if (run->has_ticked && how == 0xff)
        CASE_CHECK(riptide_estimator_tick(run->estimator, run->now_ns - 1) == RIPTIDE_E_INVALID);
    run->now_ns += step;
    CASE_CHECK(riptide_estimator_tick(run->estimator, run->now_ns) == 0);
    run->has_ticked = true;
    check_lifetimes(run);
}

static void reconfigure(struct run *run, struct case_bytes *bytes)
{
    static struct drawn_config drawn;
    struct riptide_prefix learn = draw_network(bytes);
    const struct riptide_scope scope = { .learn = &learn, .n_learn = 1 };
    bool has_scope = case_u8(bytes) & 1;
    struct riptide_error error;
    int r;

    draw_config(&drawn, bytes);
    r = riptide_estimator_reconfigure(run->estimator, &drawn.config, has_scope ? &scope : NULL,
                                      &error);
    CASE_CHECK(r == 0 || (r < 0 && error.text[0] && !strchr(error.text, '\n')));
    if (r < 0)
        return;
    run->drawn = drawn;
    run->drawn.config.overrides = run->drawn.overrides;
    run->drawn.config.aggregates = run->drawn.aggregates;
    /* What a shorter time to live ends, the next tick ends. */
    CASE_CHECK(riptide_estimator_tick(run->estimator, run->now_ns) == 0);
    pop(run, UINT32_MAX);
    check_told(run);
}

/* A successor of the same configuration knows the same; of hints it knows nothing. */
static void succeed(struct run *run)
{
    struct riptide_load_counts counts;
    struct riptide_estimator *other;
    uint8_t *state, *again;
    size_t n, n_again;

    CASE_CHECK(riptide_estimator_new(&other, &run->drawn.config, NULL) == 0);
    CASE_CHECK(riptide_estimator_tick(run->estimator, run->now_ns) == 0);
    state = save_all(run->estimator, run->now_ns, run->now_ns, &n);
    CASE_CHECK(
        riptide_estimator_replace(other, run->now_ns, run->now_ns, state, n, &counts, NULL) == 0);
    CASE_CHECK(
        counts.expired + counts.older + counts.regrouped + counts.repoliced + counts.overflow == 0);
    again = save_all(other, run->now_ns, run->now_ns, &n_again);
    CASE_CHECK(n == n_again && (run->has_hints || memcmp(state, again, n) == 0));
    free(again);
    free(state);
    riptide_estimator_free(other);
}

static void add_samples(struct run *run, struct case_bytes *bytes)
{
    struct riptide_sample samples[16];
    const struct riptide_sample *pointers[16];
    int outcomes[16];
    size_t n = 1 + case_u8(bytes) % 16;

    for (size_t i = 0; i < n; i++) {
        samples[i] = draw_sample(bytes);
        pointers[i] = &samples[i];
    }
    CASE_CHECK(riptide_estimator_add_all(run->estimator, pointers, n, outcomes) == 0);
}

static void step(struct run *run, struct case_bytes *bytes)
{
    uint8_t what = case_u8(bytes);

    if (what < 128) {
        add_samples(run, bytes);
        tick(run, bytes);
    } else if (what < 160) {
        struct riptide_hint hint = draw_hint(bytes, run->now_ns);

        if (what < 132)
            riptide_estimator_remove_hint(run->estimator, &hint.dst);
        else if (riptide_estimator_add_hint(run->estimator, &hint, NULL) == 0)
            run->has_hints = true;
    } else if (what < 176) {
        reconfigure(run, bytes);
    } else if (what < 184) {
        add_samples(run, bytes);
        riptide_estimator_discard(run->estimator);
    } else if (what < 192) {
        add_samples(run, bytes);
    } else if (what < 208) {
        succeed(run);
    } else if (what < 224) {
        pop(run, 1);
        return;
    } else {
        tick(run, bytes);
    }
    if (what & 1) {
        riptide_estimator_discard(run->estimator);
        pop(run, UINT32_MAX);
        check_told(run);
    }
}

/* Nobody says anything any more: all that was given is withdrawn, and nothing is left. */
static void end(struct run *run)
{
    struct riptide_estimator_stats stats;

    riptide_estimator_discard(run->estimator);
    run->now_ns += run->drawn.config.ttl_ns;
    CASE_CHECK(riptide_estimator_tick(run->estimator, run->now_ns) == 0);
    pop(run, UINT32_MAX);
    for (size_t i = 0; i < run->n_told; i++)
        CASE_CHECK(run->told[i].cwnd == 0);
    riptide_estimator_get_stats(run->estimator, &stats, sizeof(stats));
    CASE_CHECK(stats.destinations == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct case_bytes bytes = { data, n };
    struct riptide_error error;
    static struct run run;
    int r;

    memset(&run, 0, sizeof(run));
    run.now_ns = ns_per_s;
    draw_config(&run.drawn, &bytes);
    r = riptide_estimator_new(&run.estimator, &run.drawn.config, &error);
    CASE_CHECK(r == 0 || (r < 0 && error.text[0] && !strchr(error.text, '\n')));
    if (r < 0)
        return 0;
    while (bytes.left > 0 && run.n_told < MAX_TOLD - 256)
        step(&run, &bytes);
    end(&run);
    riptide_estimator_free(run.estimator);
    return 0;
}
