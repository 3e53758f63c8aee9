/* SPDX-License-Identifier: MIT */
/*
 * Bytes to a scope and sockets, and what must hold for any of them: the verdict of the filter's
 * byte code is that of the plain evaluation. For a unit test that draws the bytes; aborts where it
 * does not hold.
 */
#ifndef RIPTIDE_TESTS_SCOPE_CASE_H
#define RIPTIDE_TESTS_SCOPE_CASE_H

#include "byte_code_run.h"
#include "case_bytes.h"
#include "observe/filter.h"
#include "prefix.h"

enum { CASE_PREFIXES = 24, CASE_RANGES = 4, CASE_SOCKETS = 48 };

struct scope_case {
    struct case_bytes bytes;
    struct riptide_prefix prefixes[CASE_PREFIXES + 1]; /* learned and excluded; the first is ::/0 */
    struct riptide_prefix learn[CASE_PREFIXES], exclude[CASE_PREFIXES];
    struct riptide_port_range local[CASE_RANGES], remote[CASE_RANGES];
    size_t n;
    struct riptide_scope scope;
};

/* An address of its own, or one that differs from an earlier prefix in a bit: by chance alone
 * nothing would ever lie within anything. */
static inline void case_address(struct scope_case *c, uint8_t address[16])
{
    uint8_t how = case_u8(&c->bytes), bit;

    memset(address, 0, 16);
    if (how % 4 == 0) {
        for (int i = 0; i < 16; i++)
            address[i] = case_u8(&c->bytes);
        return;
    }
    memcpy(address, c->prefixes[how / 4 % (c->n + 1)].addr, 16);
    bit = case_u8(&c->bytes);
    if (how % 4 > 1)
        address[bit / 8 % 16] ^= (uint8_t)(0x80 >> (bit % 8));
    if (how % 4 > 2)
        address[3] ^= bit;
}

static inline void case_prefixes(struct scope_case *c, uint8_t n)
{
    while (c->n < n) {
        struct riptide_prefix *prefix = &c->prefixes[c->n + 1];
        uint8_t kind = case_u8(&c->bytes);

        prefix->family = kind & 1 ? AF_INET6 : AF_INET;
        case_address(c, prefix->addr);
        if (prefix->family == AF_INET)
            memset(prefix->addr + 4, 0, 12);
        prefix_truncate(prefix,
                        (uint8_t)(case_u8(&c->bytes) % (prefix->family == AF_INET ? 33 : 129)));
        if (kind & 2)
            c->exclude[c->scope.n_exclude++] = *prefix;
        else
            c->learn[c->scope.n_learn++] = *prefix;
        c->n++;
    }
}

static inline size_t case_ranges(struct scope_case *c, struct riptide_port_range *ranges, uint8_t n)
{
    for (uint8_t i = 0; i < n; i++) {
        uint16_t a = case_u16(&c->bytes), b = case_u16(&c->bytes);

        ranges[i] = (struct riptide_port_range){ a < b ? a : b, a < b ? b : a };
    }
    return n;
}

static inline void case_scope(struct scope_case *c)
{
    uint8_t flags = case_u8(&c->bytes);

    c->prefixes[0].family = AF_INET6;
    case_prefixes(c, case_u8(&c->bytes) % (CASE_PREFIXES + 1));
    c->scope.learn = c->learn;
    c->scope.exclude = c->exclude;
    c->scope.local_ports = c->local;
    c->scope.remote_ports = c->remote;
    if (flags & 1)
        c->scope.n_local_ports = case_ranges(c, c->local, 1 + (flags >> 6) % CASE_RANGES);
    if (flags & 2)
        c->scope.n_remote_ports = case_ranges(c, c->remote, 1 + (flags >> 6) % CASE_RANGES);
}

/* The ends of ranges are where mistakes are. */
static inline uint16_t case_port(struct scope_case *c, const struct riptide_port_range *ranges)
{
    uint8_t how = case_u8(&c->bytes);
    const struct riptide_port_range *range = &ranges[how / 8 % CASE_RANGES];

    switch (how % 5) {
    case 0:
        return range->first;
    case 1:
        return range->last;
    case 2:
        return (uint16_t)(range->first - 1);
    case 3:
        return (uint16_t)(range->last + 1);
    default:
        return case_u16(&c->bytes);
    }
}

static inline struct diag_socket case_socket(struct scope_case *c)
{
    uint8_t kind = case_u8(&c->bytes);
    struct diag_socket socket = {
        .family = kind & 1 ? AF_INET6 : AF_INET,
        .local_port = case_port(c, c->local),
        .remote_port = case_port(c, c->remote),
    };

    case_address(c, socket.dst);
    if ((kind & 3) == 3) {
        memmove(socket.dst + 12, socket.dst, 4);
        memset(socket.dst, 0, 10);
        memset(socket.dst + 10, 0xff, 2);
    }
    return socket;
}

static inline struct riptide_sample case_sample(const struct diag_socket *socket)
{
    struct riptide_sample sample = {
        .local_port = socket->local_port,
        .remote_port = socket->remote_port,
    };

    prefix_from_address(&sample.dst, socket->family, socket->dst);
    return sample;
}

/* The scope by its definition. */
static inline int case_longest(const struct riptide_prefix *prefixes, size_t n,
                               const struct riptide_prefix *dst)
{
    int longest = -1;

    for (size_t i = 0; i < n; i++) {
        if (riptide_prefix_contains(&prefixes[i], dst) && prefixes[i].len > longest)
            longest = prefixes[i].len;
    }
    return longest;
}

static inline bool case_ports(const struct riptide_port_range *ranges, size_t n, uint16_t port)
{
    for (size_t i = 0; i < n; i++) {
        if (ranges[i].first <= port && port <= ranges[i].last)
            return true;
    }
    return n == 0;
}

static inline bool case_expected(const struct riptide_scope *scope,
                                 const struct riptide_sample *sample)
{
    int exclude = case_longest(scope->exclude, scope->n_exclude, &sample->dst);
    int learn = case_longest(scope->learn, scope->n_learn, &sample->dst);

    return case_ports(scope->local_ports, scope->n_local_ports, sample->local_port) &&
           case_ports(scope->remote_ports, scope->n_remote_ports, sample->remote_port) &&
           (scope->n_learn == 0 ? exclude < 0 : learn > exclude);
}

/* Checked first and then run, as the kernel does. */
static inline bool case_verdict(const struct filter *filter, const struct diag_socket *socket)
{
    size_t n;
    const unsigned char *code = filter_get(filter, &n);

    return byte_code_run(code, n, socket);
}

static inline void case_check_audit(const struct filter *filter)
{
    size_t n;
    const unsigned char *code = filter_get(filter, &n);

    CASE_CHECK(n == 0 || byte_code_audit(code, n));
}

/* Only a filter that is partial may let through what the scope does not match. */
static inline void case_check_socket(const struct filter *filter, const struct riptide_scope *scope,
                                     const struct diag_socket *socket)
{
    struct riptide_sample sample = case_sample(socket);
    bool expected = case_expected(scope, &sample), is = case_verdict(filter, socket);

    CASE_CHECK(filter_matches(filter, &sample) == expected);
    CASE_CHECK(is == expected || (is && filter->is_partial));
    CASE_CHECK(!expected || !prefix_set_is_empty(&filter->prefixes));
}

static inline void scope_case_run(const uint8_t *data, size_t n)
{
    struct scope_case c = { .bytes = { data, n } };
    struct filter filter = { 0 };

    case_scope(&c);
    CASE_CHECK(filter_init(&filter, &c.scope) == 0);
    case_check_audit(&filter);
    for (size_t i = 0; i < CASE_SOCKETS; i++) {
        struct diag_socket socket = case_socket(&c);

        case_check_socket(&filter, &c.scope, &socket);
    }
    filter_deinit(&filter);
}

#endif
