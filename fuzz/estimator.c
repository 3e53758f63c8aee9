/* SPDX-License-Identifier: MIT */
/*
 * Any sequence of samples, times, hints, base windows, configurations and states: no window is
 * outside its bounds or older than its time to live, and each follows from its explanation; there
 * are no more destinations than configured, and exactly the given hints; each window is withdrawn
 * at the end, each popped one is the present one, and a saved state loads as the same.
 */
#include "estimator.h"

#include "compute/estimator.h"
#include "prefix.h"
#include "target.h"
#include "tools.h"

enum { MAX_TOLD = 1024 };

/* The windows of a host, by the popped changes. */
struct told {
    struct riptide_prefix dst;
    uint32_t cwnd;
};

struct run {
    struct riptide_estimator *estimator;
    struct drawn_config drawn;
    uint64_t now_ns;
    bool has_ticked;
    struct riptide_hint hints[RIPTIDE_MAX_HINTS]; /* in force */
    size_t n_hints;
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

/* The permanent hint with the longest prefix that contains `dst`. */
static const struct riptide_hint *kept_for(const struct run *run, const struct riptide_prefix *dst)
{
    const struct riptide_hint *kept = NULL;

    for (size_t i = 0; i < run->n_hints; i++) {
        const struct riptide_hint *hint = &run->hints[i];

        if (hint->until_ns == 0 && riptide_prefix_contains(&hint->dst, dst) &&
            (!kept || hint->dst.len > kept->dst.len))
            kept = hint;
    }
    return kept;
}

static uint32_t base_of(const struct run *run, const struct riptide_prefix *dst)
{
    struct riptide_explanation why;

    return riptide_estimator_explain(run->estimator, dst, &why, sizeof(why)) == 0 ? why.base_cwnd
                                                                                   : 0;
}

/*
 * The bounds are the permanent hint's, or the configuration's; a base window can exceed the
 * configured upper one. Temporary hints never lower the lower one.
 */
static void check_bounds(const struct run *run, const struct riptide_estimate *estimate)
{
    const struct riptide_estimator_config *config = &run->drawn.config;
    const struct riptide_hint *kept = kept_for(run, &estimate->dst);
    uint32_t base = base_of(run, &estimate->dst);
    uint32_t min = kept && kept->cwnd_min ? kept->cwnd_min : config->cwnd_min;
    uint32_t max = base > config->cwnd_max ? base : config->cwnd_max;

    if (kept && kept->cwnd_max)
        max = kept->cwnd_max;
    CASE_CHECK(min >= 1 && max <= RIPTIDE_CWND_LIMIT);
    CASE_CHECK(estimate->cwnd >= min && estimate->cwnd <= max);
    CASE_CHECK(estimate->cwnd_max >= min && estimate->cwnd_max <= max);
    CASE_CHECK(estimate->cwnd <= estimate->cwnd_max);
    CASE_CHECK(estimate->cwnd >= base || estimate->may_lower);
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

/* The temporary hints for `dst` as one: the lowest value of each figure. */
static struct riptide_hint hint_for(const struct run *run, const struct riptide_prefix *dst)
{
    struct riptide_hint lowest = { .scale = 1 };

    for (size_t i = 0; i < run->n_hints; i++) {
        const struct riptide_hint *hint = &run->hints[i];

        if (hint->until_ns == 0 || !riptide_prefix_contains(&hint->dst, dst))
            continue;
        if (hint->scale > 0 && hint->scale < lowest.scale)
            lowest.scale = hint->scale;
        if (hint->cwnd_max > 0 && (lowest.cwnd_max == 0 || hint->cwnd_max < lowest.cwnd_max))
            lowest.cwnd_max = hint->cwnd_max;
    }
    return lowest;
}

/* The window follows from the figures of its explanation. */
static void check_explanation(const struct run *run, const struct riptide_explanation *why)
{
    const struct riptide_hint *kept = kept_for(run, &why->dst);
    struct riptide_hint hint = hint_for(run, &why->dst);
    double cwnd = why->bounds & RIPTIDE_BOUND_BASE ? why->base_cwnd : why->smoothed;

    CASE_CHECK(why->hint_scale == hint.scale && why->hint_cwnd_max == hint.cwnd_max);
    CASE_CHECK(why->override_scale == (kept && kept->scale > 0 ? kept->scale : 1));
    if (cwnd > why->cwnd_max)
        cwnd = why->cwnd_max;
    cwnd *= why->override_scale < hint.scale ? why->override_scale : hint.scale;
    if (hint.cwnd_max > 0 && cwnd > hint.cwnd_max)
        cwnd = hint.cwnd_max;
    if (cwnd < why->cwnd_min)
        cwnd = why->cwnd_min;
    CASE_CHECK(why->cwnd == (uint32_t)(cwnd + 0.5));
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
        check_explanation(run, &why);
    }
}

/* A prefix has at most one temporary and one permanent hint. */
static struct riptide_hint *hint_at(struct run *run, const struct riptide_prefix *dst, bool has_end)
{
    for (size_t i = 0; i < run->n_hints; i++) {
        if (riptide_prefix_equal(&run->hints[i].dst, dst) &&
            has_end == (run->hints[i].until_ns != 0))
            return &run->hints[i];
    }
    return NULL;
}

static void check_hints(struct run *run)
{
    struct riptide_hint hint;
    uint32_t n = 0;

    while (riptide_estimator_next_hint(run->estimator, &n, &hint) == 0) {
        const struct riptide_hint *given =
            hint_at(run, &hint.dst, hint.until_ns != RIPTIDE_NEVER_NS);

        CASE_CHECK(given && hint.cwnd_max == given->cwnd_max && hint.cwnd_min == given->cwnd_min);
        CASE_CHECK(hint.until_ns == (given->until_ns ? given->until_ns : RIPTIDE_NEVER_NS));
        CASE_CHECK(hint.scale == (given->scale > 0 ? given->scale : 1));
    }
    CASE_CHECK(n == run->n_hints);
}

static bool is_hint(const struct run *run, const struct riptide_hint *hint)
{
    uint32_t min = hint->cwnd_min ? hint->cwnd_min : run->drawn.config.cwnd_min;
    uint32_t max = hint->cwnd_max ? hint->cwnd_max : run->drawn.config.cwnd_max;

    if (!prefix_is_valid(&hint->dst) || hint->scale > 1 || max > RIPTIDE_CWND_LIMIT)
        return false;
    if (hint->until_ns == 0)
        return min <= max;
    return (hint->cwnd_max > 0 || (hint->scale > 0 && hint->scale < 1)) &&
           hint->until_ns > (run->has_ticked ? run->now_ns : 0);
}

static void add_hint(struct run *run, const struct riptide_hint *hint)
{
    struct riptide_hint *place = hint_at(run, &hint->dst, hint->until_ns != 0);
    struct riptide_error error;
    int r = riptide_estimator_add_hint(run->estimator, hint, &error);

    if (!is_hint(run, hint)) {
        CASE_CHECK(r < 0 && error.text[0] && !strchr(error.text, '\n'));
        return;
    }
    if (!place && run->n_hints == RIPTIDE_MAX_HINTS) {
        CASE_CHECK(r == RIPTIDE_E_FULL);
        return;
    }
    CASE_CHECK(r == 0);
    *(place ? place : &run->hints[run->n_hints++]) = *hint;
    check_hints(run);
}

static void remove_hint(struct run *run, const struct riptide_prefix *dst)
{
    struct riptide_hint *place = hint_at(run, dst, true);
    int r = riptide_estimator_remove_hint(run->estimator, dst);

    if (!place)
        place = hint_at(run, dst, false);
    CASE_CHECK(r == (place ? 0 : RIPTIDE_E_UNKNOWN));
    if (place)
        *place = run->hints[--run->n_hints];
    check_hints(run);
}

/* Only destinations with a window have a known base window. */
static void set_base(struct run *run, struct case_bytes *bytes)
{
    struct riptide_prefix peer = draw_host(bytes), dst;
    uint8_t how = case_u8(bytes);
    uint32_t cwnd = how & 1 ? case_u32(bytes) : how;
    struct riptide_estimate known;

    riptide_estimator_group(run->estimator, &peer, &dst);
    estimator_set_base(run->estimator, &dst, cwnd);
    if (riptide_estimator_find(run->estimator, &dst, &known) == 0)
        CASE_CHECK(base_of(run, &dst) ==
                   (cwnd < RIPTIDE_CWND_LIMIT ? cwnd : RIPTIDE_CWND_LIMIT));
    check_lifetimes(run);
}

/* Ticks at now_ns, when hints may end. */
static void tick_now(struct run *run)
{
    CASE_CHECK(riptide_estimator_tick(run->estimator, run->now_ns) == 0);
    run->has_ticked = true;
    for (size_t i = run->n_hints; i-- > 0;) {
        if (run->hints[i].until_ns != 0 && run->hints[i].until_ns <= run->now_ns)
            run->hints[i] = run->hints[--run->n_hints];
    }
    check_hints(run);
}

static void tick(struct run *run, struct case_bytes *bytes)
{
    uint8_t how = case_u8(bytes);
    uint64_t step = how & 1 ? case_u32(bytes) * UINT64_C(1000) : how * ns_per_s / 4;

    if (run->has_ticked && how == 0xff)
        CASE_CHECK(riptide_estimator_tick(run->estimator, run->now_ns - 1) == RIPTIDE_E_INVALID);
    run->now_ns += step;
    tick_now(run);
    check_lifetimes(run);
}

static void configure(struct run *run, const struct drawn_config *drawn)
{
    run->drawn = *drawn;
    run->drawn.config.hints = run->drawn.overrides;
    run->drawn.config.aggregates = run->drawn.aggregates;
    for (size_t i = 0; i < drawn->config.n_hints; i++)
        run->hints[run->n_hints++] = drawn->overrides[i];
    check_hints(run);
}

/*
 * A successor with the same configuration and hints has the same windows, unless there are base
 * windows: a state does not tell whether losses have lowered a window below them.
 */
static void succeed(struct run *run)
{
    struct riptide_load_counts counts;
    struct riptide_estimator *other;
    char *state, *again;
    size_t n, n_again;
    struct riptide_estimate known;
    uint32_t cursor = 0;
    bool is_same = true;

    CASE_CHECK(riptide_estimator_new(&other, &run->drawn.config, NULL) == 0);
    tick_now(run);
    for (size_t i = 0; i < run->drawn.config.n_hints; i++)
        CASE_CHECK(riptide_estimator_remove_hint(other, &run->drawn.overrides[i].dst) == 0);
    for (size_t i = 0; i < run->n_hints; i++)
        CASE_CHECK(riptide_estimator_add_hint(other, &run->hints[i], NULL) == 0);
    while (riptide_estimator_next(run->estimator, &cursor, &known) == 0)
        is_same &= base_of(run, &known.dst) == 0;
    state = save_all(run->estimator, run->now_ns, run->now_ns, &n);
    CASE_CHECK(riptide_estimator_load(other, run->now_ns, run->now_ns, state, n, &counts,
                                      NULL) == 0);
    CASE_CHECK(
        counts.skipped + counts.expired + counts.older + counts.regrouped + counts.overflow == 0);
    again = save_all(other, run->now_ns, run->now_ns, &n_again);
    CASE_CHECK(!is_same || (n == n_again && memcmp(state, again, n) == 0));
    free(again);
    free(state);
    riptide_estimator_free(other);
}

static void add_samples(struct run *run, struct case_bytes *bytes)
{
    struct riptide_sample samples[16];
    const struct riptide_sample *pointers[16];
    uint16_t cwnds[16];
    int outcomes[16];
    size_t n = 1 + case_u8(bytes) % 16;

    for (size_t i = 0; i < n; i++) {
        samples[i] = draw_sample(bytes);
        pointers[i] = &samples[i];
    }
    CASE_CHECK(riptide_estimator_add_all(run->estimator, pointers, n, outcomes, cwnds) == 0);
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
            remove_hint(run, &hint.dst);
        else
            add_hint(run, &hint);
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
    } else if (what >= 232 && what < 240) {
        set_base(run, bytes);
    } else {
        tick(run, bytes);
    }
    if (what & 1) {
        riptide_estimator_discard(run->estimator);
        pop(run, UINT32_MAX);
        check_told(run);
    }
}

/* No more samples: all given windows are withdrawn, and nothing remains. */
static void end(struct run *run)
{
    struct riptide_estimator_stats stats;

    riptide_estimator_discard(run->estimator);
    run->now_ns += run->drawn.config.ttl_ns;
    tick_now(run);
    pop(run, UINT32_MAX);
    for (size_t i = 0; i < run->n_told; i++)
        CASE_CHECK(run->told[i].cwnd == 0);
    riptide_estimator_get_stats(run->estimator, &stats, sizeof(stats));
    CASE_CHECK(stats.destinations == 0 && run->estimator->table.n == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct case_bytes bytes = { data, n };
    struct riptide_error error;
    static struct drawn_config drawn;
    static struct run run;
    int r;

    memset(&run, 0, sizeof(run));
    run.now_ns = ns_per_s;
    draw_config(&drawn, &bytes);
    r = riptide_estimator_new(&run.estimator, &drawn.config, &error);
    CASE_CHECK(r == 0 || (r < 0 && error.text[0] && !strchr(error.text, '\n')));
    if (r < 0)
        return 0;
    configure(&run, &drawn);
    while (bytes.left > 0 && run.n_told < MAX_TOLD - 256)
        step(&run, &bytes);
    end(&run);
    riptide_estimator_free(run.estimator);
    return 0;
}
