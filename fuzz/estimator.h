/* SPDX-License-Identifier: MIT */
/* Configurations and samples of an estimator, drawn from bytes. */
#ifndef RIPTIDE_FUZZ_ESTIMATOR_H
#define RIPTIDE_FUZZ_ESTIMATOR_H

#include "case_bytes.h"
#include "tools.h"

#include <riptide/compute.h>
#include <string.h>
#include <sys/socket.h>

static const uint64_t ns_per_s = 1000000000;

/* One of 64 hosts that are close to each other, half of them IPv6. */
static inline struct riptide_prefix draw_host(struct case_bytes *bytes)
{
    uint8_t n = case_u8(bytes);

    if (n & 0x80)
        return (struct riptide_prefix){ AF_INET6,
                                        128,
                                        { 0x20, 1, 0xd, 0xb8, [7] = n >> 4 & 3, [15] = n & 31 } };
    return (struct riptide_prefix){ AF_INET, 32, { 10, 0, n >> 4 & 3, n & 31 } };
}

/* One of these hosts, or a network around it. */
static inline struct riptide_prefix draw_network(struct case_bytes *bytes)
{
    struct riptide_prefix prefix = draw_host(bytes);
    uint8_t len = (uint8_t)(case_u8(bytes) % (prefix.len + 1));

    for (uint8_t bit = len; bit < prefix.len; bit++)
        prefix.addr[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
    prefix.len = len;
    return prefix;
}

/* A share from 0 to 1, both included. */
static inline double draw_share(struct case_bytes *bytes)
{
    return case_u8(bytes) / 255.0;
}

/* Hints without an end, valid or not. */
static inline void draw_hints(struct riptide_estimator *estimator, struct case_bytes *bytes)
{
    uint8_t how = case_u8(bytes);

    for (int i = 0; i < (how & 3); i++) {
        struct riptide_hint hint = {
            .dst = draw_network(bytes),
            .cwnd_min = how & 8 ? case_u8(bytes) : 0,
            .cwnd_max = how & 16 ? case_u16(bytes) : 0,
            .off = how & 32,
        };

        riptide_estimator_set_hint(estimator, &hint, NULL);
    }
}

/* Mostly a valid configuration. */
static inline void draw_config(struct riptide_estimator_config *config, struct case_bytes *bytes)
{
    uint8_t how = case_u8(bytes);

    riptide_estimator_config_init(config, sizeof(*config));
    config->policy = riptide_policy_get(case_u8(bytes) % 4);
    config->cwnd_min = case_u8(bytes);
    config->cwnd_max = config->cwnd_min + case_u16(bytes);
    config->ttl_ns = case_u8(bytes) * ns_per_s / 2;
    if (how & 4) {
        draw_share(bytes);
        config->history_weight = draw_share(bytes);
    }
    if (how & 8)
        config->rto_min_floor_us = case_u8(bytes) * 1000u;
    if (how & 16) {
        config->prefix_len4 = 33 - case_u8(bytes) % 34;
        config->prefix_len6 = case_u8(bytes);
    }
    if (how & 32)
        config->max_destinations = case_u8(bytes);
}

/* Any sample that a kernel can report, and sometimes an impossible one. */
static inline struct riptide_sample draw_sample(struct case_bytes *bytes)
{
    uint8_t how = case_u8(bytes);
    struct riptide_sample sample = {
        .dst = draw_host(bytes),
        .cwnd = how & 1 ? case_u32(bytes) : case_u8(bytes),
        .rtt_us = how & 2 ? case_u32(bytes) : case_u16(bytes),
        .min_rtt_us = how & 2 ? case_u32(bytes) : case_u16(bytes),
        .mss_bytes = how & 4 ? case_u32(bytes) : 1448,
        .data_segs_out = how & 8 ? case_u32(bytes) : case_u8(bytes),
        .retrans_segs = how & 16 ? case_u32(bytes) : 0,
        .delivery_rate_Bps = how & 32 ? case_u64(bytes) : case_u32(bytes),
        .last_data_sent_ms = how & 64 ? case_u32(bytes) : 0,
        .app_limited = how & 64 && case_u8(bytes) & 1,
        .closed = how & 128,
    };

    if (how == 0xff)
        sample.dst.len = case_u8(bytes);
    sample.acked_bytes = sample.delivery_rate_Bps; /* the bytes of one second */
    return sample;
}

/* The whole state as text, to compare and to load; the caller frees it. */
static inline char *save_all(const struct riptide_estimator *estimator, uint64_t now_ns,
                             uint64_t realtime_ns, size_t *np)
{
    size_t most = riptide_estimator_save(estimator, now_ns, realtime_ns, NULL, 0);
    char *state = malloc(most);

    CASE_CHECK(state);
    *np = riptide_estimator_save(estimator, now_ns, realtime_ns, state, most);
    CASE_CHECK(*np <= most);
    return state;
}

#endif
