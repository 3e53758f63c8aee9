/* SPDX-License-Identifier: MIT */
/*
 * Saves an estimator's state as text and loads it, for the next process and for other hosts. Pure;
 * lib/agent/state.c does the files.
 *
 * The first line has the version of the text and CLOCK_REALTIME of the save. Each further line is a
 * destination, with its window before bounds, from which the policy restores its memory:
 *
 *     riptide state 2 saved_ns=1790000000000000000
 *     192.0.2.1 cwnd=48 samples=3 age_ns=12 paced=1 cut=1 min_rtt_us=50000
 *
 * age_ns is the time since the window was computed. paced: first flights are to be paced. cut: the
 * policy has cut the window at some time.
 *
 * Older and newer versions read each other's text: unknown fields are skipped, and missing ones are
 * 0 (of min_rtt_us: unknown). A line without cwnd or age_ns is damaged, and one of which a field is
 * no number in its range.
 */
#include "estimator.h"
#include "prefix.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char magic[] = "riptide state 2 saved_ns=";

/* Two wall clocks, of two hosts or before and after a reboot, may differ by this. */
#define CLOCK_TOLERANCE_NS (10 * NS_PER_S)

/* Longer lines are damaged. */
enum { MOST_LINE_BYTES = 1024 };

/* The window as the policy has given it, before bounds. */
static void put_line(FILE *out, const struct riptide_estimator *estimator,
                     struct destination *destination, uint64_t now_ns)
{
    struct riptide_estimate estimate = { .min_rtt_us = destination->last.min_rtt_us };
    double cwnd = greater(1, lesser(destination->smoothed, RIPTIDE_CWND_LIMIT));
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];
    bool is_paced;

    if (estimator->config.policy->explain)
        estimator->config.policy->explain(memory_of(estimator, destination), &estimate);
    is_paced = estimate.pacing_percent > 0 && estimate.pacing_percent != RIPTIDE_AT_ONCE;
    riptide_prefix_format(&destination->dst, dst);
    fprintf(out,
            "%s cwnd=%" PRIu32 " samples=%u age_ns=%" PRIu64 " paced=%d cut=%d min_rtt_us=%" PRIu32
            "\n",
            dst, (uint32_t)(cwnd + 0.5), destination->last.n[RIPTIDE_LEFT_OUT_NOT],
            now_ns - (uint64_t)destination->updated_ns, is_paced, estimate.may_lower,
            estimate.min_rtt_us);
}

RIPTIDE_PUBLIC int riptide_estimator_print(const struct riptide_estimator *estimator, FILE *out,
                                           uint64_t now_ns, uint64_t realtime_ns)
{
    fprintf(out, "%s%" PRIu64 "\n", magic, realtime_ns);
    FOR_EACH_SLOT(&estimator->table, slot)
    {
        struct destination *destination = destination_at(estimator, slot);

        if (has_window(destination))
            put_line(out, estimator, destination, now_ns);
    }
    return ferror(out) ? -EIO : 0;
}

RIPTIDE_PUBLIC char *riptide_estimator_save(const struct riptide_estimator *estimator,
                                            uint64_t now_ns, uint64_t realtime_ns)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);

    if (!out)
        return NULL;
    riptide_estimator_print(estimator, out, now_ns, realtime_ns);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/*
 * Copies a line without its end. One that was cut off, without an end, becomes empty, as does one
 * that is too long. Returns where the next line begins.
 */
static const char *next_line(const char *at, const char *end, char line[MOST_LINE_BYTES])
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    size_t n = newline && newline - at < MOST_LINE_BYTES ? (size_t)(newline - at) : 0;

    memcpy(line, at, n);
    line[n] = 0;
    return newline ? newline + 1 : end;
}

/*
 * Loads one destination of a state that was saved passed_ns ago. Outcomes: RIPTIDE_E_DONE: it has
 * expired; others: it is skipped. Errors: -ENOMEM.
 */
static int load_line(struct riptide_estimator *estimator, const char *line, uint64_t passed_ns)
{
    const struct riptide_estimator_config *config = &estimator->config;
    bool is_damaged = !strstr(line, " age_ns=");
    uint64_t age_ns = field_number(line, " age_ns=", INT64_MAX, &is_damaged) + passed_ns;
    struct riptide_estimate loaded = {
        .smoothed = (double)field_number(line, " cwnd=", RIPTIDE_CWND_LIMIT, &is_damaged),
        .samples = (uint32_t)field_number(line, " samples=", UINT16_MAX, &is_damaged),
        .min_rtt_us = (uint32_t)field_number(line, " min_rtt_us=", UINT32_MAX, &is_damaged),
        .pacing_percent = field_number(line, " paced=", 1, &is_damaged) ? 100 : RIPTIDE_AT_ONCE,
        .may_lower = field_number(line, " cut=", 1, &is_damaged),
        /* Below 0 where it was computed before this host booted, as that is the clock's zero. */
        .updated_ns = (int64_t)(estimator->input.now_ns - age_ns),
    };
    char text[RIPTIDE_PREFIX_TEXT_BYTES];
    uint8_t len;
    bool is_any;

    snprintf(text, sizeof(text), "%.*s", (int)strcspn(line, " "), line);
    is_damaged |= riptide_prefix_parse(&loaded.dst, text) != 0 || loaded.smoothed == 0;
    /*
     * No peer has a local or unspecified address. A wide prefix that begins with zeros has peers.
     */
    is_any = !prefix_is_host(&loaded.dst) && is_zero(loaded.dst.addr, sizeof(loaded.dst.addr));
    if (is_damaged || (!is_any && address_is_local(loaded.dst.family, loaded.dst.addr)))
        return RIPTIDE_E_INVALID;
    if (age_ns >= config->ttl_ns || age_ns > INT64_MAX)
        return RIPTIDE_E_DONE;
    /* Its length is not that of this configuration's destinations, or it is out of scope. */
    len = loaded.dst.family == AF_INET ? config->prefix_len4 : config->prefix_len6;
    if (loaded.dst.len != len || !prefix_set_decide(&estimator->scope, &loaded.dst))
        return RIPTIDE_E_UNKNOWN;
    return destination_adopt(estimator, &loaded);
}

RIPTIDE_PUBLIC int riptide_estimator_load(struct riptide_estimator *estimator, uint64_t now_ns,
                                          uint64_t realtime_ns, const char *text, size_t size,
                                          struct riptide_error *error)
{
    uint32_t n_loaded = 0, n_expired = 0, n_others = 0;
    const char *end = text + size;
    char line[MOST_LINE_BYTES];
    uint64_t saved_ns, passed_ns;
    bool is_damaged = false;
    int r = 0;

    error_set(error, "%s", "");
    if (now_ns < estimator->input.now_ns || now_ns > INT64_MAX)
        return RIPTIDE_E_INVALID;
    text = next_line(text, end, line);
    if (strncmp(line, "riptide", strlen("riptide")) != 0)
        return error_set(error, "state: the first line is not that of a riptide state");
    if (strncmp(line, magic, strlen(magic)) != 0)
        return error_set(error, "state: of another version; this library reads version 2");
    saved_ns = field_number(line, " saved_ns=", UINT64_MAX, &is_damaged);
    if (is_damaged)
        return error_set(error, "state: the first line does not say when it was saved");
    if (saved_ns > realtime_ns && saved_ns - realtime_ns > CLOCK_TOLERANCE_NS)
        return error_set(error, "state: saved %llu s ahead of this clock",
                         (unsigned long long)((saved_ns - realtime_ns) / NS_PER_S));
    passed_ns = realtime_ns > saved_ns ? realtime_ns - saved_ns : 0;
    if (passed_ns > INT64_MAX)
        passed_ns = INT64_MAX;
    estimator->input.now_ns = now_ns;
    while (r >= 0 && text < end) {
        text = next_line(text, end, line);
        /* The rest belongs to the agent. */
        if (strncmp(line, "riptide ", strlen("riptide ")) == 0)
            break;
        r = load_line(estimator, line, passed_ns);
        n_loaded += r == 0;
        n_expired += r == RIPTIDE_E_DONE;
        n_others += r > 0 && r != RIPTIDE_E_DONE;
    }
    if (r < 0)
        return error_fill(error, r);
    error_set(error, "destinations loaded: %u, expired: %u, others: %u", n_loaded, n_expired,
              n_others);
    return 0;
}
