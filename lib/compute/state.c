/* SPDX-License-Identifier: MIT */
/*
 * What an estimator knows as bytes, and back: to start where a predecessor was, or to learn from
 * another host. Pure; files are lib/agent/state_file.c's.
 *
 * All numbers are little-endian. Head: "riptide\n", version u16, number of overrides' policies u16,
 * number of destinations u32, when saved u64 (ns, CLOCK_REALTIME), name of the policy (16 bytes,
 * zeros behind it). Each destination, least recently computed first: family 4 or 6 and, in the
 * upper four bits, the number of its policy (0: the head's), length, address (1, 1, 16 bytes),
 * window u16, samples u32, age when saved u64 (ns), combined and smoothed window (IEEE 754
 * binary64). Then the names of overrides' policies (16 bytes each). Last: CRC-32 of all before.
 *
 * Only the window is kept, not what the policy has in its memory: it knows what a window stands for
 * (riptide_policy.restore), and so a file outlives changes of a policy's memory.
 */
#include "crc32.h"
#include "estimator.h"
#include "internal.h"
#include "prefix.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <string.h>
#include <sys/socket.h>

enum { VERSION = 1, POLICY_BYTES = 16, HEAD_BYTES = 40, RECORD_BYTES = 48, CRC_BYTES = 4 };

static const unsigned char magic[8] = { 'r', 'i', 'p', 't', 'i', 'd', 'e', '\n' };

/* Two wall clocks, of two hosts or before and after a reboot, may differ by that much. */
#define CLOCK_TOLERANCE_NS (10 * NS_PER_S)

struct record {
    struct riptide_prefix dst;
    uint8_t method;
    uint16_t cwnd;
    uint32_t samples;
    uint64_t age_ns;
    double combined;
    double smoothed;
};

static unsigned char *put(unsigned char *at, uint64_t value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        at[i] = (unsigned char)(value >> 8 * i);
    return at + n;
}

static uint64_t get(const unsigned char **atp, size_t n)
{
    uint64_t value = 0;

    for (size_t i = 0; i < n; i++)
        value |= (uint64_t)(*atp)[i] << 8 * i;
    *atp += n;
    return value;
}

static unsigned char *put_double(unsigned char *at, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return put(at, bits, sizeof(bits));
}

static double get_double(const unsigned char **atp)
{
    uint64_t bits = get(atp, sizeof(bits));
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

static unsigned char *put_record(unsigned char *at, const struct destination *destination,
                                 uint64_t now_ns)
{
    uint64_t age_ns = destination_age_ns(destination, now_ns);

    *at++ = (uint8_t)((destination->dst.family == AF_INET ? 4 : 6) |
                      destination->flags >> METHOD_SHIFT << 4);
    *at++ = destination->dst.len;
    memcpy(at, destination->dst.addr, sizeof(destination->dst.addr));
    at += sizeof(destination->dst.addr);
    at = put(at, destination->cwnd, 2);
    at = put(at, destination->samples, 4);
    at = put(at, age_ns, 8);
    at = put_double(at, (double)destination->combined);
    return put_double(at, destination->smoothed);
}

static struct record get_record(const unsigned char *at)
{
    uint8_t family = at[0] & 0xf;
    struct record record = { .dst.family = family == 4   ? AF_INET
                                           : family == 6 ? AF_INET6
                                                         : 0,
                             .dst.len = at[1],
                             .method = at[0] >> 4 };

    memcpy(record.dst.addr, at + 2, sizeof(record.dst.addr));
    at += 18;
    record.cwnd = (uint16_t)get(&at, 2);
    record.samples = (uint32_t)get(&at, 4);
    record.age_ns = get(&at, 8);
    record.combined = get_double(&at);
    record.smoothed = get_double(&at);
    return record;
}

static unsigned char *put_policy(unsigned char *at, const struct riptide_policy *policy)
{
    memset(at, 0, POLICY_BYTES);
    memcpy(at, policy->name, strnlen(policy->name, POLICY_BYTES));
    return at + POLICY_BYTES;
}

RIPTIDE_PUBLIC size_t riptide_estimator_save(const struct riptide_estimator *estimator,
                                             uint64_t now_ns, uint64_t realtime_ns, void *bytes,
                                             size_t size)
{
    uint32_t n = estimator->windows.n;
    size_t n_names = estimator->n_methods - 1;
    size_t needed = HEAD_BYTES + n * (size_t)RECORD_BYTES + n_names * POLICY_BYTES + CRC_BYTES;
    unsigned char *at = bytes;

    if (size < needed)
        return needed;
    memcpy(at, magic, sizeof(magic));
    at = put(at + sizeof(magic), VERSION, 2);
    at = put(at, n_names, 2);
    at = put(at, n, 4);
    at = put(at, realtime_ns, 8);
    at = put_policy(at, estimator->methods[0].policy);
    for (uint32_t slot = estimator->windows.oldest; slot != NONE;
         slot = destination_at(estimator, slot)->newer)
        at = put_record(at, destination_at(estimator, slot), now_ns);
    for (size_t i = 1; i <= n_names; i++)
        at = put_policy(at, estimator->methods[i].policy);
    put(at, crc32(bytes, needed - CRC_BYTES), CRC_BYTES);
    return needed;
}

/* What a state says in its head, and where the rest is. */
struct frame {
    const unsigned char *records;
    uint32_t n;
    const unsigned char *names; /* of overrides' policies */
    uint8_t n_names;
};

static bool record_is_valid(const struct record *record, const struct frame *frame,
                            uint64_t older_age_ns)
{
    return record->method <= frame->n_names && prefix_is_valid(&record->dst) && record->cwnd > 0 &&
           record->combined >= 0 && record->combined <= FLT_MAX && isfinite(record->smoothed) &&
           record->smoothed >= 0 && record->age_ns <= older_age_ns;
}

/* The bytes are ours, whole and of a version that we read. Sets *frame. */
static int check_frame(const unsigned char *bytes, size_t size, struct frame *frame,
                       struct riptide_error *error)
{
    const unsigned char *at = bytes + sizeof(magic), *crc;
    uint64_t version, n_names, n, needed;

    if (size < sizeof(magic) || memcmp(bytes, magic, sizeof(magic)) != 0) {
        error_set(error, "state: foreign, it does not begin as a state of riptide does");
        return -EINVAL;
    }
    if (size < HEAD_BYTES + CRC_BYTES) {
        error_set(error, "state: truncated, %zu bytes hold no head", size);
        return -EINVAL;
    }
    version = get(&at, 2);
    n_names = get(&at, 2);
    if (version != VERSION || n_names >= MAX_METHODS) {
        error_set(error, "state: of version %u; this library reads version %d", (unsigned)version,
                  VERSION);
        return -EINVAL;
    }
    n = get(&at, 4);
    needed = HEAD_BYTES + n * RECORD_BYTES + n_names * POLICY_BYTES + CRC_BYTES;
    if (size != needed) {
        error_set(error, "state: %s, %zu bytes where its head says %llu",
                  size < needed ? "truncated" : "damaged", size, (unsigned long long)needed);
        return -EINVAL;
    }
    crc = bytes + size - CRC_BYTES;
    if (crc32(bytes, size - CRC_BYTES) != get(&crc, CRC_BYTES)) {
        error_set(error, "state: damaged, its checksum is wrong");
        return -EINVAL;
    }
    *frame = (struct frame){ .records = bytes + HEAD_BYTES,
                             .n = (uint32_t)n,
                             .names = bytes + HEAD_BYTES + n * RECORD_BYTES,
                             .n_names = (uint8_t)n_names };
    return 0;
}

/* What is not printable is no name, and would break the line that tells it. */
static bool is_printable(const char *text)
{
    while (*text >= ' ' && *text <= '~')
        text++;
    return *text == 0;
}

/* What is whole may still not be for us. Sets *passed_ns, the time since it was saved. */
static int check_contents(const struct riptide_estimator *estimator, const unsigned char *bytes,
                          const struct frame *frame, uint64_t realtime_ns, uint64_t *passed_nsp,
                          struct riptide_error *error)
{
    const unsigned char *at = bytes + sizeof(magic) + 8;
    char policy[POLICY_BYTES + 1] = { 0 };
    uint64_t saved_ns = get(&at, 8), older_age_ns = UINT64_MAX;

    memcpy(policy, at, POLICY_BYTES);
    if (!is_printable(policy)) {
        error_set(error, "state: damaged, the name of its policy is no text");
        return -EINVAL;
    }
    if (strncmp(policy, estimator->config.policy->name, POLICY_BYTES) != 0) {
        error_set(error, "state: of policy %.16s; ours is %s", policy,
                  estimator->config.policy->name);
        return -EINVAL;
    }
    if (saved_ns > realtime_ns && saved_ns - realtime_ns > CLOCK_TOLERANCE_NS) {
        error_set(error, "state: from the future, %llu s ahead of this clock",
                  (unsigned long long)((saved_ns - realtime_ns) / NS_PER_S));
        return -EINVAL;
    }
    for (uint32_t i = 0; i < frame->n; i++) {
        struct record record = get_record(frame->records + (size_t)i * RECORD_BYTES);

        if (!record_is_valid(&record, frame, older_age_ns)) {
            error_set(error, "state: damaged, destination %u cannot be", i + 1);
            return -EINVAL;
        }
        older_age_ns = record.age_ns;
    }
    *passed_nsp = realtime_ns > saved_ns ? realtime_ns - saved_ns : 0;
    return 0;
}

/* A load under way. */
struct load {
    struct riptide_estimator *estimator;
    struct frame frame;
    uint64_t passed_ns; /* since the state was saved */
    uint64_t now_ns;
    uint32_t last; /* what was taken over last: none that comes is older; NONE: nothing yet */
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
    destination->samples = samples_kept(record->samples);
    memset(destination->left_out, 0, sizeof(destination->left_out));
    destination->combined = (float)record->combined;
    destination->smoothed = record->smoothed;
    destination->updated_ns = updated_ns;
    bound_destination(estimator, slot);
    restore_kept(estimator, destination, load->now_ns);
    age_list_insert_behind(estimator, load->last, slot);
    load->last = slot;
}

/* Whether the policy that computed the record is the one that `dst` has here. */
static bool is_of_its_policy(const struct load *load, const struct record *record)
{
    const struct riptide_estimator_config *config = &load->estimator->config;
    const struct riptide_override *override = override_of(config, &record->dst);
    const struct riptide_policy *policy =
        override && override->policy ? override->policy : config->policy;
    const char *name = record->method == 0 ? config->policy->name
                                           : (const char *)load->frame.names +
                                                 (size_t)(record->method - 1) * POLICY_BYTES;

    return strncmp(name, policy->name, POLICY_BYTES) == 0;
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
    if (!destination_is_group(&estimator->config, &record->dst)) {
        counts->regrouped++;
        return 0;
    }
    if (!is_of_its_policy(load, record)) {
        counts->repoliced++;
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

static int load_bytes(struct riptide_estimator *estimator, bool is_replacing, uint64_t now_ns,
                      uint64_t realtime_ns, const void *bytes, size_t size,
                      struct riptide_load_counts *counts, struct riptide_error *error)
{
    struct load load = { .estimator = estimator, .now_ns = now_ns, .last = NONE };
    int r;

    if (now_ns < estimator->now_ns || now_ns > INT64_MAX)
        return RIPTIDE_E_INVALID;
    r = check_frame(bytes, size, &load.frame, error);
    if (r == 0)
        r = check_contents(estimator, bytes, &load.frame, realtime_ns, &load.passed_ns, error);
    while (r == 0 && is_replacing && estimator->windows.oldest != NONE)
        forget_window(estimator, estimator->windows.oldest);
    for (uint32_t i = 0; i < load.frame.n && r == 0; i++) {
        struct record record = get_record(load.frame.records + (size_t)i * RECORD_BYTES);

        r = load_record(&load, &record);
    }
    if (r < 0)
        return r;
    estimator->now_ns = now_ns;
    if (counts)
        *counts = load.counts;
    return r;
}

RIPTIDE_PUBLIC int riptide_estimator_load(struct riptide_estimator *estimator, uint64_t now_ns,
                                          uint64_t realtime_ns, const void *bytes, size_t size,
                                          struct riptide_load_counts *counts,
                                          struct riptide_error *error)
{
    return load_bytes(estimator, false, now_ns, realtime_ns, bytes, size, counts, error);
}

RIPTIDE_PUBLIC int riptide_estimator_replace(struct riptide_estimator *estimator, uint64_t now_ns,
                                             uint64_t realtime_ns, const void *bytes, size_t size,
                                             struct riptide_load_counts *counts,
                                             struct riptide_error *error)
{
    return load_bytes(estimator, true, now_ns, realtime_ns, bytes, size, counts, error);
}
