/* SPDX-License-Identifier: MIT */
/* lib/observe/filter: the byte code agrees with the plain evaluation, and the kernel accepts it. */
#include "bytes.h"
#include "internal.h"
#include "observe/filter.h"
#include "scope_case.h"

#include <arpa/inet.h>

enum { CASES = 400, CASE_BYTES = 600 };

/* One that is freed where it goes out of scope. */
#define FILTER CLEANUP(filter_deinit) struct filter

static void make(struct filter *filter, const struct riptide_scope *scope)
{
    *filter = (struct filter){ 0 };
    assert_int_equal(filter_init(filter, scope), 0);
    case_check_audit(filter);
}

static size_t code_bytes(const struct filter *filter)
{
    size_t n;

    filter_get(filter, &n);
    return n;
}

TEST(empty_scope_has_no_code)
{
    struct riptide_scope scope = { 0 };
    FILTER filter;

    make(&filter, &scope);
    assert_int_equal(code_bytes(&filter), 0);
}

/* What is inside of another prefix costs nothing, and tests passed on the way are not repeated. */
TEST(each_prefix_is_asked_for_once)
{
    struct riptide_prefix nested[] = { prefix("10.0.0.0/24"), prefix("10.0.0.64/26"),
                                       prefix("10.0.0.0/24"), prefix("10.0.0.7") };
    struct riptide_prefix hosts[] = { prefix("10.0.0.1"), prefix("10.0.0.2") };
    struct riptide_scope scope = { .learn = nested, .n_learn = 4 };
    FILTER filter;

    make(&filter, &scope);
    assert_int_equal(code_bytes(&filter), 16); /* one test */
    assert_false(filter.is_partial);
    filter_deinit(&filter);
    scope = (struct riptide_scope){ .learn = hosts, .n_learn = 2 };
    make(&filter, &scope);
    assert_int_equal(code_bytes(&filter), 16 + 4 + 16); /* test, accept, test */
}

/* Hosts of 10.0.0.0/8, in an order of their own. */
static struct riptide_prefix *scattered_hosts(uint32_t n)
{
    struct riptide_prefix *hosts = calloc(n, sizeof(*hosts));

    assert_non_null(hosts);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t address = htonl(UINT32_C(10) << 24 | i * UINT32_C(2654435761) >> 8);

        hosts[i] = (struct riptide_prefix){ .family = AF_INET, .len = 32 };
        memcpy(hosts[i].addr, &address, sizeof(address));
    }
    return hosts;
}

static void check_hosts(const struct filter *filter, const struct riptide_scope *scope,
                        const struct riptide_prefix *hosts, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct diag_socket socket = { .family = AF_INET };

        memcpy(socket.dst, hosts[i].addr, 4);
        case_check_socket(filter, scope, &socket);
        assert_true(case_verdict(filter, &socket));
        for (int bit = 0; bit < 32; bit += 3) {
            memcpy(socket.dst, hosts[i].addr, 4);
            socket.dst[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
            case_check_socket(filter, scope, &socket);
        }
    }
}

/* The kernel's part is exact up to the limit; beyond it the observer does all but the ports. */
TEST(prefixes_beyond_the_limit_are_left_to_the_observer)
{
    CLEANUP(freep) struct riptide_prefix *hosts = scattered_hosts(FILTER_MAX_PREFIXES + 1);
    const struct riptide_port_range port = { 443, 443 };
    struct riptide_scope scope = { .learn = hosts, .n_learn = FILTER_MAX_PREFIXES };
    FILTER filter;

    make(&filter, &scope);
    assert_false(filter.is_partial);
    check_hosts(&filter, &scope, hosts, FILTER_MAX_PREFIXES);
    filter_deinit(&filter);
    scope.n_learn++;
    make(&filter, &scope);
    assert_true(filter.is_partial);
    assert_int_equal(code_bytes(&filter), 0);
    check_hosts(&filter, &scope, hosts, FILTER_MAX_PREFIXES + 1);
    filter_deinit(&filter);
    scope.local_ports = &port;
    scope.n_local_ports = 1;
    make(&filter, &scope);
    assert_true(code_bytes(&filter) > 0);
}

/* Hosts of IPv6 have the longest tests, and all ranges two ends. */
TEST(the_largest_scope_fits)
{
    struct riptide_prefix dsts[FILTER_MAX_PREFIXES];
    struct riptide_port_range ranges[FILTER_MAX_PORT_RANGES];
    struct riptide_scope scope = {
        .learn = dsts,
        .n_learn = FILTER_MAX_PREFIXES,
        .local_ports = ranges,
        .n_local_ports = FILTER_MAX_PORT_RANGES,
        .remote_ports = ranges,
        .n_remote_ports = FILTER_MAX_PORT_RANGES,
    };

    seed_random();
    for (int i = 0; i < FILTER_MAX_PORT_RANGES; i++)
        ranges[i] = (struct riptide_port_range){ (uint16_t)(i * 200), (uint16_t)(i * 200 + 99) };
    for (int turn = 0; turn < 20; turn++) {
        FILTER filter;

        for (uint32_t i = 0; i < FILTER_MAX_PREFIXES; i++) {
            dsts[i] = (struct riptide_prefix){ .family = AF_INET6, .len = 128 };
            for (int byte = 0; byte < 16; byte++)
                dsts[i].addr[byte] = (uint8_t)draw();
        }
        make(&filter, &scope);
        assert_false(filter.is_partial);
        assert_true(filter.n_bytes > 0 && filter.n_bytes <= FILTER_MAX_BYTES);
    }
}

TEST(any_scope_on_any_socket)
{
    uint8_t bytes[CASE_BYTES];

    seed_random();
    for (int i = 0; i < CASES; i++) {
        for (size_t at = 0; at < sizeof(bytes); at++)
            bytes[at] = (uint8_t)draw();
        scope_case_run(bytes, sizeof(bytes));
    }
}
