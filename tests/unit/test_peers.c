/* SPDX-License-Identifier: MIT */
/* Connections summed up for each peer. */
#include "peers.h"
#include "unit.h"

static void forget(struct peers *peers)
{
    peers_deinit(peers);
}

/* Those that are freed where they go out of scope. */
#define PEERS __attribute__((cleanup(forget))) struct peers

static void add(struct peers *peers, uint8_t dst, uint32_t cwnd, uint32_t min_rtt_us,
                uint64_t acked_bytes)
{
    const struct riptide_sample sample = {
        .dst = { AF_INET, 32, { 10, 0, 0, dst } },
        .cwnd = cwnd,
        .min_rtt_us = min_rtt_us,
        .acked_bytes = acked_bytes,
        .retrans_segs = 1,
    };

    assert_int_equal(peers_add(peers, (const struct riptide_sample *[]){ &sample }, 1), 0);
}

TEST(peers_sum_up_their_connections)
{
    PEERS peers = { .n = 0 };

    add(&peers, 1, 10, 0, 5);
    add(&peers, 2, 10, 0, 6);
    add(&peers, 1, 40, 300, 7);
    add(&peers, 1, 10, 200, 8);
    peers_sort(&peers);
    assert_int_equal(peers.n, 2);
    assert_int_equal(peers.slots[0].connections, 3);
    assert_int_equal(peers.slots[0].cwnd_sum, 60);
    assert_int_equal(peers.slots[0].cwnd_max, 40);
    assert_int_equal(peers.slots[0].min_rtt_us, 200);
    assert_int_equal(peers.slots[0].acked_bytes, 20);
    assert_int_equal(peers.slots[0].retrans_segs, 3);
    assert_int_equal(peers.slots[1].min_rtt_us, 0);
}

TEST(peers_sort_by_bytes_then_address)
{
    static const uint8_t expected[] = { 7, 3, 5, 9 };
    PEERS peers = { .n = 0 };

    add(&peers, 9, 10, 0, 1);
    add(&peers, 5, 10, 0, 2);
    add(&peers, 7, 10, 0, 3);
    add(&peers, 3, 10, 0, 2);
    peers_sort(&peers);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(peers.slots[i].dst.addr[3], expected[i]);
}

/* Each family apart, in a table that grows several times, sixteen at a time. */
TEST(peers_grow_and_are_cleared)
{
    PEERS peers = { .keys = { 3, 5 } };
    struct riptide_sample samples[RIPTIDE_POPPED_SAMPLES] = { { .cwnd = 10 } };
    const struct riptide_sample *pointers[RIPTIDE_POPPED_SAMPLES];

    for (uint32_t i = 0; i < 20000; i++) {
        struct riptide_prefix *dst = &samples[i % RIPTIDE_POPPED_SAMPLES].dst;
        const uint32_t n = i % 10000;

        dst->family = n % 2 ? AF_INET : AF_INET6;
        dst->len = n % 2 ? 32 : 128;
        dst->addr[0] = (uint8_t)(n >> 8);
        dst->addr[1] = (uint8_t)(n & 0xfe);
        pointers[i % RIPTIDE_POPPED_SAMPLES] = &samples[i % RIPTIDE_POPPED_SAMPLES];
        if (i % RIPTIDE_POPPED_SAMPLES == RIPTIDE_POPPED_SAMPLES - 1)
            assert_int_equal(peers_add(&peers, pointers, RIPTIDE_POPPED_SAMPLES), 0);
    }
    assert_int_equal(peers.n, 10000);
    peers_sort(&peers);
    for (size_t i = 0; i < peers.n; i++)
        assert_int_equal(peers.slots[i].connections, 2);
    peers_clear(&peers);
    assert_int_equal(peers.n, 0);
    add(&peers, 1, 10, 0, 0);
    assert_int_equal(peers.n, 1);
}
