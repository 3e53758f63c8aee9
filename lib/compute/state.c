/* SPDX-License-Identifier: MIT */
/*
 * What an estimator knows as text, and back: for a successor, for another host, and for itself with
 * another configuration, which is reconfigure.c's. Pure; files are lib/agent/state.c's.
 *
 * The first line has the version of the text and CLOCK_REALTIME of when it was saved. Each line
 * behind it is a destination, the one computed last first:
 *
 *     riptide state 2 saved_ns=1790000000000000000
 *     192.0.2.1 cwnd=48 samples=3 combined=48 smoothed=48.0625 age_ns=12 policy=careful kept=1l:..
 *
 * `kept` is what the policy has in its memory beyond the tick, with the version of its layout and
 * the order of bytes: what does not fit is left, and the policy restored from the window. Fields
 * that are not known are passed over; samples, combined, policy and kept may be missing.
 */
#include "estimator.h"
#include "internal.h"
#include "observe/config.h"
#include "prefix.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char magic[] = "riptide state 2 saved_ns=";

/* What the last version wrote, which was not text. */
static const char magic1[] = "riptide\n\1";

/* A line without what the policy keeps, and how much of a policy's name is in it. */
enum { LINE_BYTES = 320, NAME_BYTES = 31 };

/* Two wall clocks, of two hosts or before and after a reboot, may differ by that much. */
#define CLOCK_TOLERANCE_NS (10 * NS_PER_S)

/* Windows are kept in millionths of a segment, and a million segments at most. */
enum { MICROS = 1000000, MOST_SEGMENTS = 1000000 };

static const char byte_order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 'l' : 'b';

/* Part of a line. */
struct word {
    const char *at;
    size_t len;
};

static size_t kept_bytes(const struct riptide_policy *policy)
{
    return policy->bytes - policy->tick_bytes;
}

static bool is_name(const char *name)
{
    size_t len = strlen(name), i = 0;

    while (i < len && isgraph((unsigned char)name[i]))
        i++;
    return len > 0 && len <= NAME_BYTES && i == len;
}

static char *put_segments(char *at, const char *name, uint64_t micros)
{
    at += snprintf(at, LINE_BYTES, " %s=%" PRIu64 ".%06" PRIu64, name, micros / MICROS,
                   micros % MICROS);
    while (at[-1] == '0')
        at--;
    return at[-1] == '.' ? at - 1 : at;
}

static uint64_t to_micros(double segments)
{
    return (uint64_t)(lesser(segments, MOST_SEGMENTS) * MICROS + 0.5);
}

static char *put_kept(char *at, const struct riptide_policy *policy, const unsigned char *memory)
{
    static const char digits[] = "0123456789abcdef";

    at += snprintf(at, LINE_BYTES, " policy=%s kept=%" PRIu32 "%c:", policy->name, policy->version,
                   byte_order);
    for (size_t i = policy->tick_bytes; i < policy->bytes && policy->version > 0; i++) {
        *at++ = digits[memory[i] >> 4];
        *at++ = digits[memory[i] & 15];
    }
    return at;
}

static char *put_line(char *at, const struct riptide_estimator *estimator,
                      const struct destination *destination, uint64_t now_ns)
{
    const struct riptide_policy *policy = method_of(estimator, destination)->policy;
    uint64_t smoothed = to_micros(destination->smoothed);

    riptide_prefix_format(&destination->dst, at);
    at += strlen(at);
    at += snprintf(at, LINE_BYTES, " cwnd=%u samples=%" PRIu32, destination->cwnd,
                   destination->samples);
    at = put_segments(at, "combined", to_micros((double)destination->combined));
    /* Never up: what was below one half, and a smaller window, stays so. */
    at = put_segments(at, "smoothed",
                      smoothed - ((double)smoothed / MICROS > destination->smoothed));
    at += snprintf(at, LINE_BYTES, " age_ns=%" PRIu64, destination_age_ns(destination, now_ns));
    if (is_name(policy->name))
        at = put_kept(at, policy, memory_of(estimator, destination));
    *at++ = '\n';
    return at;
}

RIPTIDE_PUBLIC size_t riptide_estimator_save(const struct riptide_estimator *estimator,
                                             uint64_t now_ns, uint64_t realtime_ns, char *text,
                                             size_t size)
{
    size_t most = 0;
    char *at = text;

    for (size_t i = 0; i < estimator->n_methods; i++) {
        if (kept_bytes(estimator->methods[i].policy) > most)
            most = kept_bytes(estimator->methods[i].policy);
    }
    most = LINE_BYTES + estimator->windows.n * (LINE_BYTES + 2 * most);
    if (size < most)
        return most;
    at += snprintf(at, LINE_BYTES, "%s%" PRIu64 "\n", magic, realtime_ns);
    for (uint32_t slot = estimator->windows.newest; slot != NONE;
         slot = destination_at(estimator, slot)->older)
        at = put_line(at, estimator, destination_at(estimator, slot), now_ns);
    return (size_t)(at - text);
}

/* What a line says of a destination. */
struct record {
    struct riptide_prefix dst;
    uint64_t cwnd;
    uint64_t samples;
    uint64_t age_ns;
    uint64_t combined; /* in millionths */
    uint64_t smoothed; /* likewise */
    struct word policy;
    struct word kept;
};

/* The value behind " NAME=", up to the next blank or the end. */
static bool find_field(struct word line, const char *name, struct word *value)
{
    const char *at = memmem(line.at, line.len, name, strlen(name)), *end = line.at + line.len;

    if (!at)
        return false;
    value->at = at + strlen(name);
    at = memchr(value->at, ' ', (size_t)(end - value->at));
    value->len = (size_t)((at ? at : end) - value->at);
    return true;
}

static bool get_number(struct word text, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (!isdigit((unsigned char)text.at[i]) || __builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, (uint64_t)(text.at[i] - '0'), value))
            return false;
    }
    return text.len > 0;
}

static bool find_number(struct word line, const char *name, uint64_t *value)
{
    struct word text;

    return find_field(line, name, &text) && get_number(text, value);
}

/* In millionths, with up to six digits behind the point. */
static bool find_segments(struct word line, const char *name, uint64_t *micros)
{
    struct word text, fraction = { NULL, 0 };
    uint64_t below = 0;
    const char *point;

    if (!find_field(line, name, &text))
        return false;
    point = memchr(text.at, '.', text.len);
    if (point) {
        fraction = (struct word){ point + 1, text.len - (size_t)(point + 1 - text.at) };
        text.len = (size_t)(point - text.at);
        if (fraction.len > 6 || !get_number(fraction, &below))
            return false;
        while (fraction.len++ < 6)
            below *= 10;
    }
    if (!get_number(text, micros) || *micros > MOST_SEGMENTS)
        return false;
    *micros = *micros * MICROS + below;
    return true;
}

static bool parse_line(struct word line, struct record *record)
{
    size_t len = strcspn(line.at, " \n");
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];

    *record = (struct record){ .dst = { 0 } };
    if (len >= sizeof(dst))
        return false;
    memcpy(dst, line.at, len);
    dst[len] = 0;
    if (riptide_prefix_parse(&record->dst, dst) != 0 ||
        !find_number(line, " cwnd=", &record->cwnd) || record->cwnd == 0 ||
        record->cwnd > RIPTIDE_CWND_LIMIT || !find_number(line, " age_ns=", &record->age_ns) ||
        !find_segments(line, " smoothed=", &record->smoothed))
        return false;
    if (!find_segments(line, " combined=", &record->combined))
        record->combined = record->smoothed;
    if (!find_number(line, " samples=", &record->samples) || record->samples > UINT32_MAX)
        record->samples = 0;
    if (!find_field(line, " policy=", &record->policy) ||
        !find_field(line, " kept=", &record->kept))
        record->policy = record->kept = (struct word){ "", 0 };
    return true;
}

static unsigned int from_hex(char digit)
{
    return (unsigned int)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

/* Whether what was kept is of the policy's present layout; then it has it again. */
static bool take_kept(const struct riptide_policy *policy, unsigned char *memory,
                      const struct record *record)
{
    char head[16];
    size_t n = kept_bytes(policy);
    size_t n_head =
        (size_t)snprintf(head, sizeof(head), "%" PRIu32 "%c:", policy->version, byte_order);
    const char *digits = record->kept.at + n_head;

    if (policy->version == 0 || record->policy.len != strlen(policy->name) ||
        memcmp(policy->name, record->policy.at, record->policy.len) != 0 ||
        record->kept.len != n_head + 2 * n || memcmp(record->kept.at, head, n_head) != 0 ||
        strspn(digits, "0123456789abcdef") < 2 * n)
        return false;
    for (size_t i = 0; i < n; i++)
        memory[policy->tick_bytes + i] =
            (unsigned char)(from_hex(digits[2 * i]) << 4 | from_hex(digits[2 * i + 1]));
    return true;
}

/* A load under way. */
struct load {
    struct riptide_estimator *estimator;
    const struct riptide_scope *scope; /* what lies outside is left; NULL: nothing does */
    uint64_t passed_ns;                /* since the state was saved */
    uint64_t now_ns;
    uint32_t last; /* what was taken over last: what comes is near it; NONE: nothing yet */
    struct riptide_load_counts counts;
};

/* The window of the record, as if it had been computed here at updated_ns. */
static void adopt(struct load *load, uint32_t slot, const struct record *record, int64_t updated_ns)
{
    struct riptide_estimator *estimator = load->estimator;
    struct destination *destination = destination_at(estimator, slot);

    if (load->last == slot)
        load->last = destination->older;
    if (destination->cwnd > 0)
        age_list_remove(estimator, &estimator->windows, destination);
    windowless_drop(estimator, destination);
    destination->samples = samples_kept((uint32_t)record->samples);
    memset(destination->left_out, 0, sizeof(destination->left_out));
    destination->combined = (float)((double)record->combined / MICROS);
    destination->smoothed = (double)record->smoothed / MICROS;
    destination->updated_ns = updated_ns;
    destination->cwnd = (uint16_t)record->cwnd;
    if (!take_kept(method_of(estimator, destination)->policy, memory_of(estimator, destination),
                   record))
        restore_kept(estimator, destination, load->now_ns);
    rto_update(estimator, destination);
    rebound_destination(estimator, slot);
    age_list_insert(estimator, load->last, slot);
    load->last = slot;
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
    if (!destination_is_group(&estimator->config, &record->dst) ||
        (load->scope && !scope_holds(load->scope, &record->dst))) {
        counts->regrouped++;
        return 0;
    }
    /* Shortly after a reboot that lies before the zero of this clock. */
    updated_ns = (int64_t)load->now_ns - (int64_t)age_ns;
    slot = prefix_table_find(&estimator->table, &record->dst);
    known = slot == NONE ? NULL : destination_at(estimator, slot);
    if (known && known->cwnd > 0 && known->updated_ns >= updated_ns) {
        counts->older++;
        return 0;
    }
    r = destination_get(estimator, &record->dst, &slot);
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

/* The first line, without which nothing is a state. Sets when it was saved, and where it ends. */
static int check_head(const char *text, size_t size, uint64_t realtime_ns, uint64_t *saved_nsp,
                      const char **endp, struct riptide_error *error)
{
    size_t len = strlen(magic), version_at = strlen("riptide state ");
    const char *end = memchr(text, '\n', size);

    *endp = end;
    if (size >= strlen(magic1) && memcmp(text, magic1, strlen(magic1)) == 0)
        error_set(error, "state: of version 1, which was not text; this library reads version 2");
    else if (!end || (size_t)(end - text) < len || memcmp(text, magic, version_at) != 0)
        error_set(error, "state: foreign, it does not begin as a state of riptide does");
    else if (memcmp(text, magic, len) != 0 ||
             !get_number((struct word){ text + len, (size_t)(end - text) - len }, saved_nsp))
        error_set(error, "state: of another version; this library reads version 2");
    else if (*saved_nsp > realtime_ns && *saved_nsp - realtime_ns > CLOCK_TOLERANCE_NS)
        error_set(error, "state: from the future, %llu s ahead of this clock",
                  (unsigned long long)((*saved_nsp - realtime_ns) / NS_PER_S));
    else
        return 0;
    return -EINVAL;
}

/* A line that is cut off has no end, and is none. */
int state_load_lines(struct riptide_estimator *estimator, const struct riptide_scope *scope,
                     uint64_t now_ns, uint64_t passed_ns, const char *lines, const char *end,
                     struct riptide_load_counts *counts)
{
    struct load load = { estimator, scope, passed_ns, now_ns, NONE, { 0 } };
    const char *at = lines, *newline;
    int r = 0;

    for (; r == 0 && at < end; at = newline + 1) {
        struct record record;

        newline = memchr(at, '\n', (size_t)(end - at));
        if (newline && parse_line((struct word){ at, (size_t)(newline - at) }, &record))
            r = load_record(&load, &record);
        else
            load.counts.skipped++;
        if (!newline)
            break;
    }
    if (r == 0 && counts)
        *counts = load.counts;
    return r;
}

RIPTIDE_PUBLIC int riptide_estimator_load(struct riptide_estimator *estimator, uint64_t now_ns,
                                          uint64_t realtime_ns, const char *text, size_t size,
                                          bool is_replacing, struct riptide_load_counts *counts,
                                          struct riptide_error *error)
{
    uint64_t saved_ns, passed_ns;
    const char *head_end;
    int r;

    if (now_ns < estimator->now_ns || now_ns > INT64_MAX)
        return RIPTIDE_E_INVALID;
    r = check_head(text, size, realtime_ns, &saved_ns, &head_end, error);
    if (r < 0)
        return r;
    while (is_replacing && estimator->windows.oldest != NONE)
        forget_window(estimator, estimator->windows.oldest);
    passed_ns = realtime_ns > saved_ns ? realtime_ns - saved_ns : 0;
    r = state_load_lines(estimator, NULL, now_ns, passed_ns, head_end + 1, text + size, counts);
    if (r == 0)
        estimator->now_ns = now_ns;
    return r;
}
