/* SPDX-License-Identifier: MIT */
/*
 * lib/observe/filter: on drawn scopes and sockets the byte code agrees with the scope's definition,
 * by the kernel's audit and run, written once more here for the operations that we use.
 * tests/netns/test_scope.py asks the kernel.
 */
#include "internal.h"
#include "observe/filter.h"
#include "prefix.h"
#include "unit.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>

/* One that is freed where it goes out of scope. */
#define FILTER CLEANUP(filter_deinit) struct filter

/* A socket as the kernel sees it: an IPv4-mapped peer of an IPv6 socket is AF_INET6. */
struct diag_socket {
    uint8_t family, dst[16];
    uint16_t local_port, remote_port;
};

static struct inet_diag_bc_op op_at(const unsigned char *code, size_t at)
{
    struct inet_diag_bc_op op;

    memcpy(&op, code + at, sizeof(op));
    return op;
}

/* Bytes that the operation at `at` needs at least; 0: an unknown one. */
static size_t op_bytes(const unsigned char *code, size_t n, size_t at)
{
    struct inet_diag_hostcond condition;
    size_t address_bytes;

    if (at + 4 > n)
        return 0;
    switch (op_at(code, at).code) {
    case INET_DIAG_BC_JMP:
        return 4;
    case INET_DIAG_BC_S_GE:
    case INET_DIAG_BC_D_GE:
        return at + 8 <= n ? 8 : 0;
    case INET_DIAG_BC_D_COND:
        if (at + 4 + sizeof(condition) > n)
            return 0;
        memcpy(&condition, code + at + 4, sizeof(condition));
        address_bytes = condition.family == AF_INET ? 4 : condition.family == AF_INET6 ? 16 : 0;
        if ((condition.family != AF_UNSPEC && address_bytes == 0) ||
            condition.prefix_len > 8 * address_bytes ||
            at + 4 + sizeof(condition) + address_bytes > n)
            return 0;
        return 4 + sizeof(condition) + address_bytes;
    default:
        return 0;
    }
}

/*
 * Whether the kernel takes it. A `no` must lead to where going from operation to operation by `yes`
 * comes by; the kernel walks there from the start each time, which is the square in its cost.
 */
static bool is_taken(const unsigned char *code, size_t n)
{
    static bool is_target[FILTER_MAX_BYTES + 8];
    size_t at = 0;

    memset(is_target, 0, sizeof(is_target));
    while (at < n) {
        struct inet_diag_bc_op op = op_at(code, at);
        size_t bytes = op_bytes(code, n, at), left = n - at;

        is_target[at] = false; /* jumps go forward, so whatever leads here was seen before */
        if (bytes == 0 || op.no < bytes || op.no > left + 4 || op.no % 4 || op.yes < bytes ||
            op.yes > left + 4 || op.yes % 4)
            return false;
        if (op.no < left)
            is_target[at + op.no] = true;
        at += op.yes;
    }
    return at == n && !memchr(is_target, true, n);
}

static bool passes_condition(const unsigned char *payload, const struct diag_socket *socket)
{
    static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
    const uint8_t *bits = payload + sizeof(struct inet_diag_hostcond), *dst = socket->dst;
    struct inet_diag_hostcond condition;

    memcpy(&condition, payload, sizeof(condition));
    if (condition.port != -1 && condition.port != socket->remote_port)
        return false;
    if (condition.family == AF_INET && socket->family == AF_INET6 && !memcmp(dst, mapped, 12))
        dst += 12;
    else if (condition.family != AF_UNSPEC && condition.family != socket->family)
        return false;
    for (unsigned int i = 0; i < condition.prefix_len; i++) {
        if ((dst[i / 8] ^ bits[i / 8]) >> (7 - i % 8) & 1)
            return false;
    }
    return true;
}

static bool passes(const unsigned char *code, size_t at, const struct diag_socket *socket)
{
    switch (op_at(code, at).code) {
    case INET_DIAG_BC_JMP:
        return false;
    case INET_DIAG_BC_S_GE:
        return socket->local_port >= op_at(code, at + 4).no;
    case INET_DIAG_BC_D_GE:
        return socket->remote_port >= op_at(code, at + 4).no;
    default:
        return passes_condition(code + at + 4, socket);
    }
}

/* The kernel's verdict; no code is no filter. */
static bool admits(const struct filter *filter, const struct diag_socket *socket)
{
    size_t n, at = 0;
    const unsigned char *code = filter_get(filter, &n);

    while (at < n)
        at += passes(code, at, socket) ? op_at(code, at).yes : op_at(code, at).no;
    return at == n;
}

/* The longest of the prefixes that contain it; -1: none. */
static int longest(const struct riptide_prefix *prefixes, size_t n, const struct riptide_prefix *dst)
{
    int len = -1;

    for (size_t i = 0; i < n; i++) {
        if (riptide_prefix_contains(&prefixes[i], dst) && prefixes[i].len > len)
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

/* Only a filter that is partial may let through what the scope does not contain. */
static bool check_socket(const struct filter *filter, const struct riptide_scope *scope,
                         const struct diag_socket *socket)
{
    struct riptide_sample sample = { .local_port = socket->local_port,
                                     .remote_port = socket->remote_port };
    bool expected, is = admits(filter, socket);
    int exclude, learn;

    prefix_from_address(&sample.dst, socket->family, socket->dst);
    exclude = longest(scope->exclude, scope->n_exclude, &sample.dst);
    learn = longest(scope->learn, scope->n_learn, &sample.dst);
    expected = has_port(scope->local_ports, scope->n_local_ports, sample.local_port) &&
               has_port(scope->remote_ports, scope->n_remote_ports, sample.remote_port) &&
               (scope->n_learn == 0 ? exclude < 0 : learn > exclude);
    assert_int_equal(filter_matches(filter, &sample), expected);
    assert_true(is == expected || (is && filter->is_partial));
    assert_true(!expected || !prefix_set_is_empty(&filter->prefixes));
    return expected;
}

static void make(struct filter *filter, const struct riptide_scope *scope)
{
    size_t n;
    const unsigned char *code;

    *filter = (struct filter){ 0 };
    assert_int_equal(filter_init(filter, scope), 0);
    code = filter_get(filter, &n);
    assert_true(n <= FILTER_MAX_BYTES && is_taken(code, n));
}

enum { PREFIXES = 24, RANGES = 4, SOCKETS = 48 };

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

    return ports[below(5)];
}

TEST(code_agrees_with_the_definition)
{
    seed_random();
    for (int turn = 0; turn < 400; turn++) {
        struct drawn drawn;
        FILTER filter;

        draw_scope(&drawn);
        make(&filter, &drawn.scope);
        for (int i = 0; i < SOCKETS; i++) {
            struct diag_socket socket = { .family = below(2) ? AF_INET6 : AF_INET,
                                          .local_port = draw_port(drawn.local),
                                          .remote_port = draw_port(drawn.remote) };

            draw_address(&drawn, socket.dst);
            if (socket.family == AF_INET6 && below(2)) { /* an IPv4-mapped peer */
                memmove(socket.dst + 12, socket.dst, 4);
                memset(socket.dst, 0, 10);
                memset(socket.dst + 10, 0xff, 2);
            }
            check_socket(&filter, &drawn.scope, &socket);
        }
    }
}

/* Prefixes inside of others cost nothing, and tests passed on the way are not repeated. */
TEST(code_has_one_test_for_each_prefix)
{
    struct riptide_prefix nested[] = { prefix("10.0.0.0/24"), prefix("10.0.0.64/26"),
                                       prefix("10.0.0.0/24"), prefix("10.0.0.7") };
    struct riptide_prefix hosts[] = { prefix("10.0.0.1"), prefix("10.0.0.2") };
    const struct {
        struct riptide_scope scope;
        size_t n_bytes;
    } cases[] = {
        { { .learn = NULL }, 0 },
        { { .learn = nested, .n_learn = 4 }, 16 },
        { { .learn = hosts, .n_learn = 2 }, 16 + 4 + 16 }, /* test, accept, test */
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t n_bytes;
        FILTER filter;

        make(&filter, &cases[i].scope);
        filter_get(&filter, &n_bytes);
        assert_int_equal(n_bytes, cases[i].n_bytes);
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
        struct diag_socket socket = { .family = AF_INET, .local_port = 443 };
        size_t n_bytes;
        FILTER filter;

        scope.n_learn = FILTER_MAX_PREFIXES + (more > 0);
        scope.local_ports = &port;
        scope.n_local_ports = more == 2;
        make(&filter, &scope);
        filter_get(&filter, &n_bytes);
        assert_int_equal(filter.is_partial, more > 0);
        assert_int_equal(n_bytes > 0, more != 1);
        for (uint32_t i = 0; i < 33 * scope.n_learn; i += 3) {
            memcpy(socket.dst, hosts[i / 33].addr, 4);
            assert_true(check_socket(&filter, &scope, &socket));
            socket.dst[i % 32 / 8] ^= (uint8_t)(0x80 >> i % 8);
            check_socket(&filter, &scope, &socket);
        }
    }
}

/* Hosts of IPv6 have the longest tests, and all ranges two ends. */
TEST(largest_scope_fits)
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
    }
}
