/* SPDX-License-Identifier: MIT */
/*
 * Saves an estimator's state as text and loads it: for the next process, and for other hosts. Pure;
 * lib/agent/state_file.c does the files.
 *
 * The first line has the version of the text and CLOCK_REALTIME of the save. Each further line is a
 * destination:
 *
 *     riptide state 2 saved_ns=1790000000000000000
 *     192.0.2.1 cwnd=48 samples=3 combined=48.0 smoothed=48.0625 age_ns=12 policy=careful
 * kept=1l:..
 *
 * `kept` is the policy's memory beyond the tick, with the version of its layout and the byte order;
 * if these differ, it is ignored and the policy restored from the window. Unknown fields are
 * skipped; samples, combined, policy and kept may be missing.
 */
#include "estimator.h"
#include "internal.h"
#include "prefix.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char magic[] = "riptide state 2 saved_ns=";

/* From a line with this beginning on the text belongs to the agent, not to the estimator. */
static const char next_head[] = "riptide ";

/* The head of the field `kept`. */
enum { HEAD_BYTES = 64 };

/* Two wall clocks, of two hosts or before and after a reboot, may differ by this. */
#define CLOCK_TOLERANCE_NS (10 * NS_PER_S)

/* Windows are saved in millionths of a segment, up to a million segments. */
enum { MICROS = 1000000, MICRO_DIGITS = 6, MOST_SEGMENTS = 1000000 };

static const char hex[] = "0123456789abcdef";

/* Part of a line. */
struct word {
    const char *at;
    size_t len;
};

static size_t kept_bytes(const struct riptide_policy *policy)
{
    return policy->version > 0 ? policy->bytes - policy->tick_bytes : 0;
}

static size_t put_kept_head(char *at, const struct riptide_policy *policy)
{
    char order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 'l' : 'b';

    return (size_t)snprintf(at, HEAD_BYTES, " policy=%s kept=%" PRIu32 "%c:", policy->name,
                            policy->version, order);
}

static uint64_t to_micros(double segments)
{
    return (uint64_t)(lesser(segments, MOST_SEGMENTS) * MICROS + 0.5);
}

size_t state_put_head(char *at, uint64_t realtime_ns)
{
    return (size_t)snprintf(at, STATE_LINE_BYTES, "%s%" PRIu64 "\n", magic, realtime_ns);
}

size_t state_put_line(char *begin, const struct riptide_estimator *estimator, uint32_t slot,
                      uint64_t now_ns)
{
    const struct destination *destination = destination_at(estimator, slot);
    const struct riptide_policy *policy = estimator->config.policy;
    const unsigned char *kept = (const unsigned char *)destination->memory;
    uint64_t combined = to_micros((double)destination->combined);
    uint64_t smoothed = to_micros(destination->smoothed);
    char *at = begin;

    if (destination->cwnd == 0)
        return 0;
    /* Never rounded up: a value below one half must stay below it. */
    smoothed -= (double)smoothed / MICROS > destination->smoothed;
    riptide_prefix_format(&destination->dst, at);
    at += strlen(at);
    at += snprintf(at, STATE_LINE_BYTES,
                   " cwnd=%u samples=%u combined=%" PRIu64 ".%06" PRIu64 " smoothed=%" PRIu64
                   ".%06" PRIu64 " age_ns=%" PRIu64,
                   destination->cwnd, destination->samples, combined / MICROS, combined % MICROS,
                   smoothed / MICROS, smoothed % MICROS, age_ns_of(destination, now_ns));
    at += put_kept_head(at, policy);
    kept += policy->tick_bytes;
    for (size_t i = 0; i < kept_bytes(policy); i++) {
        *at++ = hex[kept[i] >> 4];
        *at++ = hex[kept[i] & 15];
    }
    *at++ = '\n';
    return (size_t)(at - begin);
}

RIPTIDE_PUBLIC size_t riptide_estimator_save(const struct riptide_estimator *estimator,
                                             uint64_t now_ns, uint64_t realtime_ns, char *text,
                                             size_t size)
{
    size_t most = (1 + (size_t)estimator->n_windows) * STATE_LINE_BYTES, n;

    if (size < most)
        return most;
    n = state_put_head(text, realtime_ns);
    FOR_EACH_DESTINATION(estimator, slot)
    n += state_put_line(text + n, estimator, slot, now_ns);
    return n;
}

/* The fields of a destination's line. */
struct record {
    struct word line;
    struct riptide_prefix dst;
    uint64_t cwnd;
    uint64_t samples;
    uint64_t age_ns;
    uint64_t combined; /* in millionths */
    uint64_t smoothed; /* likewise */
};

/*
 * The number after " NAME=", up to the next blank or the end, in units of its last decimal place:
 * up to `digits` after the point.
 */
static bool find_number(struct word line, const char *name, unsigned int digits, uint64_t *value)
{
    const char *end = line.at + line.len, *at = memmem(line.at, line.len, name, strlen(name));
    bool is_fraction = false;

    if (!at)
        return false;
    at += strlen(name);
    if (at == end || !isdigit((unsigned char)*at))
        return false;
    for (*value = 0; at < end && *at != ' '; at++) {
        if (*at == '.' && digits > 0 && !is_fraction) {
            is_fraction = true;
            continue;
        }
        if (!isdigit((unsigned char)*at) || (is_fraction && digits-- == 0) ||
            __builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, (uint64_t)(*at - '0'), value))
            return false;
    }
    for (; digits > 0; digits--) {
        if (__builtin_mul_overflow(*value, 10, value))
            return false;
    }
    return true;
}

static bool find_segments(struct word line, const char *name, uint64_t *micros)
{
    return find_number(line, name, MICRO_DIGITS, micros) &&
           *micros <= (uint64_t)MOST_SEGMENTS * MICROS;
}

static bool parse_line(struct word line, struct record *record)
{
    size_t len = strcspn(line.at, " \n");
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];

    *record = (struct record){ .line = line };
    if (len >= sizeof(dst))
        return false;
    memcpy(dst, line.at, len);
    dst[len] = 0;
    if (riptide_prefix_parse(&record->dst, dst) != 0 ||
        !find_number(line, " cwnd=", 0, &record->cwnd) || record->cwnd == 0 ||
        record->cwnd > RIPTIDE_CWND_LIMIT || !find_number(line, " age_ns=", 0, &record->age_ns) ||
        !find_segments(line, " smoothed=", &record->smoothed))
        return false;
    if (!find_segments(line, " combined=", &record->combined))
        record->combined = record->smoothed;
    if (!find_number(line, " samples=", 0, &record->samples) || record->samples > UINT16_MAX)
        record->samples = 0;
    return true;
}

static unsigned int from_hex(char digit)
{
    return (unsigned int)(strchr(hex, digit) - hex);
}

/* Restores a policy's memory. Returns false if its layout has changed since the save. */
static bool take_kept(const struct riptide_policy *policy, struct destination *destination,
                      struct word line)
{
    unsigned char *memory = (unsigned char *)destination->memory;
    char head[HEAD_BYTES];
    size_t n_head = put_kept_head(head, policy);
    const char *digits = memmem(line.at, line.len, head, n_head);

    if (policy->version == 0 || !digits)
        return false;
    digits += n_head;
    if (strspn(digits, hex) != 2 * kept_bytes(policy))
        return false;
    for (size_t i = policy->tick_bytes; i < policy->bytes; i++, digits += 2)
        memory[i] = (unsigned char)(from_hex(digits[0]) << 4 | from_hex(digits[1]));
    return true;
}

/* A load under way. */
struct load {
    struct riptide_estimator *estimator;
    uint64_t passed_ns; /* since the state was saved */
    uint64_t now_ns;
    struct riptide_load_counts counts;
};

/* The window of the record, as if it had been computed here at updated_ns. */
static void adopt(struct load *load, uint32_t slot, const struct record *record, int64_t updated_ns)
{
    struct riptide_estimator *estimator = load->estimator;
    struct destination *destination = destination_at(estimator, slot);

    destination->samples = (uint16_t)record->samples;
    memset(destination->left_out, 0, sizeof(destination->left_out));
    destination->combined = (float)((double)record->combined / MICROS);
    destination->smoothed = (double)record->smoothed / MICROS;
    set_window(estimator, destination, (uint16_t)record->cwnd, updated_ns);
    if (!take_kept(estimator->config.policy, destination, record->line))
        restore_kept(estimator, destination, load->now_ns);
    rebound_destination(estimator, slot);
}

static int load_record(struct load *load, const struct record *record)
{
    struct riptide_estimator *estimator = load->estimator;
    struct riptide_load_counts *counts = &load->counts;
    uint64_t age_ns = record->age_ns + load->passed_ns;
    int64_t updated_ns;
    const struct destination *known;
    uint32_t slot;
    int r;

    if (age_ns < load->passed_ns || age_ns >= estimator->config.ttl_ns || age_ns > INT64_MAX) {
        counts->expired++;
        return 0;
    }
    if (!destination_is_ours(estimator, &record->dst)) {
        counts->regrouped++;
        return 0;
    }
    /* Shortly after a reboot that is before the zero of this clock. */
    updated_ns = (int64_t)load->now_ns - (int64_t)age_ns;
    slot = prefix_table_find(&estimator->table, &record->dst);
    known = slot == NONE ? NULL : destination_at(estimator, slot);
    if (known && known->cwnd > 0 && known->updated_ns >= updated_ns) {
        counts->older++;
        return 0;
    }
    r = destination_get(estimator, &record->dst, NULL, &slot);
    if (r == RIPTIDE_E_FULL) {
        counts->overflow++;
        return 0;
    }
    if (r == 0) {
        adopt(load, slot, record, updated_ns);
        counts->loaded++;
    }
    return r;
}

/* Checks the first line, which makes it a state. Sets when it was saved, and where it ends. */
static int check_head(const char *text, size_t size, uint64_t realtime_ns, uint64_t *saved_nsp,
                      const char **endp, struct riptide_error *error)
{
    const char *end = memchr(text, '\n', size);
    struct word line = { text, end ? (size_t)(end - text) : 0 };

    *endp = end;
    if (line.len < strlen("riptide") || memcmp(text, "riptide", strlen("riptide")) != 0)
        error_set(error, "state: the first line is not that of a riptide state");
    else if (line.len < strlen(magic) || memcmp(text, magic, strlen(magic)) != 0 ||
             !find_number(line, " saved_ns=", 0, saved_nsp))
        error_set(error, "state: of another version; this library reads version 2");
    else if (*saved_nsp > realtime_ns && *saved_nsp - realtime_ns > CLOCK_TOLERANCE_NS)
        error_set(error, "state: saved %llu s ahead of this clock",
                  (unsigned long long)((*saved_nsp - realtime_ns) / NS_PER_S));
    else
        return 0;
    return -EINVAL;
}

/* A line without its end was cut off and is skipped. */
static int load_lines(struct load *load, const char *at, const char *end)
{
    const char *newline;
    int r = 0;

    for (; r == 0 && at < end; at = newline + 1) {
        struct record record;

        if ((size_t)(end - at) >= sizeof(next_head) - 1 &&
            memcmp(at, next_head, sizeof(next_head) - 1) == 0)
            break;
        newline = memchr(at, '\n', (size_t)(end - at));
        if (newline && parse_line((struct word){ at, (size_t)(newline - at) }, &record))
            r = load_record(load, &record);
        else
            load->counts.skipped++;
        if (!newline)
            break;
    }
    return r;
}

RIPTIDE_PUBLIC int riptide_estimator_load(struct riptide_estimator *estimator, uint64_t now_ns,
                                          uint64_t realtime_ns, const char *text, size_t size,
                                          struct riptide_load_counts *counts,
                                          struct riptide_error *error)
{
    struct load load = { .estimator = estimator, .now_ns = now_ns };
    uint64_t saved_ns;
    const char *head_end;
    int r;

    if (now_ns < estimator->now_ns || now_ns > INT64_MAX)
        return RIPTIDE_E_INVALID;
    r = check_head(text, size, realtime_ns, &saved_ns, &head_end, error);
    if (r < 0)
        return r;
    load.passed_ns = realtime_ns > saved_ns ? realtime_ns - saved_ns : 0;
    r = load_lines(&load, head_end + 1, text + size);
    if (r < 0)
        return r;
    estimator->now_ns = now_ns;
    if (counts)
        *counts = load.counts;
    return 0;
}
