/* SPDX-License-Identifier: MIT */
/*
 * lib/observe/filter: on drawn scopes and connections it decides as the scope's definition does.
 * tests/netns/test_observer.py has the kernel take the byte code and decide by it.
 */
#include "internal.h"
#include "observe/filter.h"
#include "prefix.h"
#include "unit.h"

#include <arpa/inet.h>

/* One that is freed where it goes out of scope. */
#define FILTER CLEANUP(filter_deinit) struct filter

/* The longest of the prefixes that contain it; -1: none. */
static int longest(const struct riptide_prefix *prefixes, size_t n,
                   const struct riptide_prefix *dst)
{
    int len = -1;

    for (size_t i = 0; i < n; i++) {
        if (prefix_contains(&prefixes[i], dst) && prefixes[i].len > len)
            len = prefixes[i].len;
    }
    return len;
}

static bool has_port(const struct riptide_port_range *ranges, size_t n, uint16_t port)
{
    for (size_t i = 0; i < n; i++) {
        if (ranges[i].first <= port && port <= ranges[i].last)
            return true;
    }
    return n == 0;
}

static bool check(const struct filter *filter, const struct riptide_scope *scope,
                  const struct riptide_sample *sample)
{
    int exclude = longest(scope->exclude, scope->n_exclude, &sample->dst);
    int learn = longest(scope->learn, scope->n_learn, &sample->dst);
    bool expected = has_port(scope->local_ports, scope->n_local_ports, sample->local_port) &&
                    has_port(scope->remote_ports, scope->n_remote_ports, sample->remote_port) &&
                    (scope->n_learn == 0 ? exclude < 0 : learn > exclude);

    assert_int_equal(filter_matches(filter, sample), expected);
    assert_true(!expected || !prefix_set_is_empty(&filter->prefixes));
    return expected;
}

enum { PREFIXES = 24, RANGES = 4, CONNECTIONS = 48 };

struct drawn {
    struct riptide_prefix learn[PREFIXES], exclude[PREFIXES], all[PREFIXES + 1]; /* first ::/0 */
    struct riptide_port_range local[RANGES], remote[RANGES];
    struct riptide_scope scope;
    uint32_t n;
};

/* One that differs from an earlier prefix in a bit: by chance alone nothing would lie in anything. */
static void draw_address(const struct drawn *drawn, uint8_t address[16])
{
    uint32_t how = below(4), bit = below(128);

    memcpy(address, drawn->all[below(drawn->n + 1)].addr, 16);
    if (how > 1)
        address[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
    if (how > 2)
        address[3] ^= (uint8_t)bit;
    for (int i = 0; how == 0 && i < 16; i++)
        address[i] = (uint8_t)draw();
}

static size_t draw_ranges(struct riptide_port_range *ranges)
{
    size_t n = below(2) ? 1 + below(RANGES) : 0;

    for (size_t i = 0; i < n; i++) {
        ranges[i].first = (uint16_t)draw();
        ranges[i].last = (uint16_t)(ranges[i].first + below(65536u - ranges[i].first));
    }
    return n;
}

static void draw_scope(struct drawn *drawn)
{
    struct riptide_scope *scope = &drawn->scope;
    uint32_t n = below(PREFIXES + 1);

    *drawn = (struct drawn){ .all[0].family = AF_INET6 };
    while (drawn->n < n) {
        struct riptide_prefix *prefix = &drawn->all[drawn->n + 1];

        prefix->family = below(2) ? AF_INET6 : AF_INET;
        draw_address(drawn, prefix->addr);
        if (prefix->family == AF_INET)
            memset(prefix->addr + 4, 0, 12);
        prefix_truncate(prefix, (uint8_t)below(prefix_family_bits(prefix->family) + 1u));
        if (below(2))
            drawn->exclude[scope->n_exclude++] = *prefix;
        else
            drawn->learn[scope->n_learn++] = *prefix;
        drawn->n++;
    }
    scope->learn = drawn->learn;
    scope->exclude = drawn->exclude;
    scope->local_ports = drawn->local;
    scope->remote_ports = drawn->remote;
    scope->n_local_ports = draw_ranges(drawn->local);
    scope->n_remote_ports = draw_ranges(drawn->remote);
}

/* The ends of ranges are where mistakes are. */
static uint16_t draw_port(const struct riptide_port_range *ranges)
{
    const struct riptide_port_range *range = &ranges[below(RANGES)];
    const uint16_t ports[] = { range->first, range->last, (uint16_t)(range->first - 1),
                               (uint16_t)(range->last + 1), (uint16_t)draw() };

    return ports[below(COUNT(ports))];
}

TEST(filter_decides_as_the_definition)
{
    seed_random();
    for (int turn = 0; turn < 400; turn++) {
        FILTER filter = { 0 };
        struct drawn drawn;

        draw_scope(&drawn);
        assert_int_equal(filter_init(&filter, &drawn.scope), 0);
        for (int i = 0; i < CONNECTIONS; i++) {
            struct riptide_sample sample = { .local_port = draw_port(drawn.local),
                                             .remote_port = draw_port(drawn.remote) };
            uint8_t dst[16];

            draw_address(&drawn, dst);
            prefix_from_address(&sample.dst, below(2) ? AF_INET6 : AF_INET, dst);
            check(&filter, &drawn.scope, &sample);
        }
    }
}

/* The kernel's part is exact up to the limit; beyond it the observer does all but the ports. */
TEST(prefixes_beyond_the_limit_are_left_to_the_observer)
{
    struct riptide_prefix hosts[FILTER_MAX_PREFIXES + 1];
    const struct riptide_port_range port = { 443, 443 };
    struct riptide_scope scope = { .learn = hosts };

    for (uint32_t i = 0; i <= FILTER_MAX_PREFIXES; i++) {
        uint32_t address = htonl(UINT32_C(10) << 24 | i * UINT32_C(2654435761) >> 8);

        hosts[i] = (struct riptide_prefix){ .family = AF_INET, .len = 32 };
        memcpy(hosts[i].addr, &address, sizeof(address));
    }
    for (uint32_t more = 0; more < 3; more++) {
        struct riptide_sample sample = { .local_port = 443 };
        size_t n_bytes;
        FILTER filter = { 0 };

        scope.n_learn = FILTER_MAX_PREFIXES + (more > 0);
        scope.local_ports = &port;
        scope.n_local_ports = more == 2;
        assert_int_equal(filter_init(&filter, &scope), 0);
        filter_get(&filter, &n_bytes);
        assert_int_equal(filter.is_partial, more > 0);
        assert_int_equal(n_bytes > 0, more != 1);
        for (uint32_t i = 0; i < 33 * scope.n_learn; i += 3) {
            sample.dst = hosts[i / 33];
            assert_true(check(&filter, &scope, &sample));
            sample.dst.addr[i % 32 / 8] ^= (uint8_t)(0x80 >> i % 8);
            check(&filter, &scope, &sample);
        }
    }
}
