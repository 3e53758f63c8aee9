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
    assert_int_equal(filter.kind, RIPTIDE_FILTER_NONE);
    assert_int_equal(code_bytes(&filter), 0);
}

/* Two halves cost as much as their whole; and tests already passed on the way are not repeated. */
TEST(each_prefix_is_asked_for_once)
{
    struct riptide_prefix halves[] = { prefix("10.0.0.0/26"), prefix("10.0.0.64/26"),
                                       prefix("10.0.0.128/25"), prefix("10.0.0.7") };
    struct riptide_prefix hosts[] = { prefix("10.0.0.1"), prefix("10.0.0.2") };
    struct riptide_scope scope = { .learn = halves, .n_learn = 4 };
    FILTER filter;

    make(&filter, &scope);
    assert_int_equal(code_bytes(&filter), 16); /* one test */
    assert_int_equal(filter.kind, RIPTIDE_FILTER_WHOLE);
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

/* Every n-th one of so many: the plain evaluation compares all of them for each socket. */
static void check_hosts(const struct filter *filter, const struct riptide_prefix *hosts, uint32_t n)
{
    enum { CHECKED = 250 };

    for (uint32_t i = 0; i < n; i += n / CHECKED) {
        struct diag_socket socket = { .family = AF_INET };

        memcpy(socket.dst, hosts[i].addr, 4);
        case_check_socket(filter, filter->scope, &socket);
        assert_true(case_verdict(filter, &socket));
        for (int bit = 0; bit < 32; bit += 3) {
            memcpy(socket.dst, hosts[i].addr, 4);
            socket.dst[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
            case_check_socket(filter, filter->scope, &socket);
        }
    }
}

/* Every 25th address: prefixes that are wide enough to fit hold everything in between. */
TEST(wide_prefixes_that_tell_nothing_give_way_to_what_they_span)
{
    enum { N = 4000 };
    struct riptide_prefix hosts[N] = { { 0 } };
    struct riptide_scope scope = { .learn = hosts, .n_learn = N };
    FILTER filter;
    size_t n_bytes;

    for (uint32_t i = 0; i < N; i++) {
        uint32_t address = htonl((UINT32_C(10) << 24) + 25 * i);

        hosts[i] = (struct riptide_prefix){ .family = AF_INET, .len = 32 };
        memcpy(hosts[i].addr, &address, sizeof(address));
    }
    make(&filter, &scope);
    assert_int_equal(filter.kind, RIPTIDE_FILTER_PARTIAL);
    filter_get(&filter, &n_bytes);
    assert_true(n_bytes > 0 && n_bytes < 100);
    check_hosts(&filter, hosts, N);
}

TEST(too_many_hosts_lose_bits_and_no_socket)
{
    CLEANUP(freep) struct riptide_prefix *hosts = scattered_hosts(6000);
    struct riptide_scope scope = { .learn = hosts, .n_learn = 6000 };
    FILTER filter;
    uint32_t n_through = 0;

    make(&filter, &scope);
    assert_int_equal(filter.kind, RIPTIDE_FILTER_PARTIAL);
    check_hosts(&filter, hosts, 6000);
    /* It still leaves out whatever is far away. */
    for (uint32_t i = 0; i < 10000; i++) {
        struct diag_socket socket = { .family = AF_INET };
        uint32_t address = htonl(i * UINT32_C(2246822519));

        memcpy(socket.dst, &address, sizeof(address));
        n_through += case_verdict(&filter, &socket);
    }
    assert_true(n_through < 100);
}

/* Ranges alone never fill it: then no length of prefixes would fit. */
TEST(the_largest_scope_fits)
{
    struct riptide_port_range ranges[RIPTIDE_SCOPE_MAX_PORT_RANGES];
    CLEANUP(freep) struct riptide_prefix *hosts = scattered_hosts(6000);
    struct riptide_scope scope = {
        .learn = hosts,
        .n_learn = 6000,
        .local_ports = ranges,
        .n_local_ports = RIPTIDE_SCOPE_MAX_PORT_RANGES,
        .remote_ports = ranges,
        .n_remote_ports = RIPTIDE_SCOPE_MAX_PORT_RANGES,
    };
    FILTER filter;

    for (int i = 0; i < RIPTIDE_SCOPE_MAX_PORT_RANGES; i++)
        ranges[i] = (struct riptide_port_range){ (uint16_t)(i * 200), (uint16_t)(i * 200 + 99) };
    make(&filter, &scope);
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
