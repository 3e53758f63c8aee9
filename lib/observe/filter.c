/* SPDX-License-Identifier: MIT */
/*
 * Sets of prefixes and of ports become binary decisions, not chains: a socket passes as many tests
 * as the set has bits of choice. The code is written from its last test to its first, because the
 * kernel allows only forward jumps: so the target of each part is known, and is an argument.
 */
#include "observe/filter.h"

#include "observe/config.h"
#include "prefix.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/*
 * A place is a distance from the end in bytes. Reaching the end accepts a socket; jumping four
 * bytes past it, the farthest that the kernel allows, rejects it.
 */
enum { PLACE_ACCEPT = 0, PLACE_REJECT = -4 };

/* With the jump that may lead from it to the next one. */
enum {
    PREFIX_TEST_BYTES = 2 * sizeof(struct inet_diag_bc_op) + sizeof(struct inet_diag_hostcond) + 16,
    PORT_TEST_BYTES = 3 * sizeof(struct inet_diag_bc_op),
};

/* A prefix takes two tests at most, a range one at each end; one more parts the families. */
_Static_assert((2 * FILTER_MAX_PREFIXES + 1) * PREFIX_TEST_BYTES +
                       4 * SCOPE_MAX_PORT_RANGES * PORT_TEST_BYTES +
                       sizeof(struct inet_diag_bc_op) <=
                   FILTER_MAX_BYTES,
               "the largest scope does not fit");

/*
 * Puts an operation in front: a socket that passes it goes on with the former front, any other one
 * at `otherwise`. Returns the new front. The kernel's audit walks from one operation to the next by
 * `yes`, and allows a `no` only to one of those or to the end: hence `yes` is always the length of
 * the operation, and `no` has all choices.
 */
static int push(struct byte_code *code, uint8_t opcode, const void *payload, size_t n,
                int otherwise)
{
    int op_bytes = (int)(sizeof(struct inet_diag_bc_op) + n);
    struct inet_diag_bc_op op = { .code = opcode, .yes = (uint8_t)op_bytes };

    code->n_bytes += op_bytes;
    op.no = (uint16_t)(code->n_bytes - otherwise);
    memcpy(code->end - code->n_bytes, &op, sizeof(op));
    if (n > 0)
        memcpy(code->end - code->n_bytes + sizeof(op), payload, n);
    return code->n_bytes;
}

/* Puts a jump to that place in front, unless the front is that place. */
static void lead_to(struct byte_code *code, int place)
{
    if (code->n_bytes != place)
        push(code, INET_DIAG_BC_JMP, NULL, 0, place);
}

/* Like test_port, puts a test in front of that place. */
static int test_prefix(struct byte_code *code, const struct riptide_prefix *dst, int place,
                       int otherwise)
{
    struct inet_diag_hostcond condition;
    unsigned char payload[sizeof(condition) + sizeof(dst->addr)];

    /* Clears padding as well, as all bytes go to the kernel. */
    memset(&condition, 0, sizeof(condition));
    condition.family = dst->family;
    condition.prefix_len = dst->len;
    condition.port = -1;
    memcpy(payload, &condition, sizeof(condition));
    memcpy(payload + sizeof(condition), dst->addr, sizeof(dst->addr));
    lead_to(code, place);
    return push(code, INET_DIAG_BC_D_COND, payload,
                sizeof(condition) + prefix_family_bits(dst->family) / 8, otherwise);
}

/* Tests whether the port is at least `min`, which is `no` of a second operation. */
static int test_port(struct byte_code *code, uint8_t opcode, uint32_t min, int place, int otherwise)
{
    struct inet_diag_bc_op operand = { .no = (uint16_t)min };

    lead_to(code, place);
    return push(code, opcode, &operand, sizeof(operand), otherwise);
}

static uint32_t distance(uint32_t a, uint32_t b)
{
    return a < b ? b - a : a - b;
}

/*
 * Sockets with a port from first to last that is in a range go on at `inside`. Split where a range
 * begins or ends, as near to the middle as possible, so that sockets pass few tests.
 */
static int put_ports_between(struct byte_code *code, uint8_t opcode,
                             const struct riptide_port_range *ranges, size_t n, uint32_t first,
                             uint32_t last, int inside)
{
    uint32_t middle = (first + last) / 2, cut = 0;
    int low, high;

    for (size_t i = 0; i < 2 * n; i++) {
        uint32_t port = i % 2 ? ranges[i / 2].last + UINT32_C(1) : ranges[i / 2].first;

        if (port > first && port <= last &&
            (cut == 0 || distance(port, middle) < distance(cut, middle)))
            cut = port;
    }
    if (cut == 0)
        return scope_has_port(ranges, n, first) ? inside : PLACE_REJECT;
    low = put_ports_between(code, opcode, ranges, n, first, cut - 1, inside);
    high = put_ports_between(code, opcode, ranges, n, cut, last, inside);
    return low == high ? low : test_port(code, opcode, cut, high, low);
}

/* No ranges: all ports. */
static int put_ports(struct byte_code *code, uint8_t opcode,
                     const struct riptide_port_range *ranges, size_t n, int inside)
{
    return n == 0 ? inside : put_ports_between(code, opcode, ranges, n, 0, UINT16_MAX, inside);
}

static int place_of(bool verdict)
{
    return verdict ? PLACE_ACCEPT : PLACE_REJECT;
}

static unsigned int bit_of(const struct riptide_prefix *prefix, unsigned int index)
{
    return prefix->addr[index / 8] >> (7 - index % 8) & 1;
}

/* The longest prefix that contains all of the rules. */
static struct riptide_prefix span_of(const struct prefix_rule *rules, uint32_t n)
{
    struct riptide_prefix span = rules[0].prefix;
    const struct riptide_prefix *last = &rules[n - 1].prefix;
    uint8_t len = 0, max = span.len < last->len ? span.len : last->len;

    while (len < max && bit_of(&span, len) == bit_of(last, len))
        len++;
    prefix_truncate(&span, len);
    return span;
}

/* Of rules whose span has length `len`, how many have a 0 after it. */
static uint32_t half_of(const struct prefix_rule *rules, uint32_t n, uint8_t len)
{
    uint32_t low = 0, high = n;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (bit_of(&rules[middle].prefix, len))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/*
 * Sockets that no rule contains go to `outside`. `is_inside`: they are known to be inside the span
 * of the rules.
 */
static int put_rules(struct byte_code *code, const struct prefix_rule *rules, uint32_t n,
                     int outside, bool is_inside)
{
    struct riptide_prefix span, first;
    uint32_t n_first;
    int place, second;

    if (n == 0)
        return outside;
    span = span_of(rules, n);
    if (span.len < rules[0].prefix.len) {
        n_first = half_of(rules, n, span.len);
        first = span_of(rules, n_first);
        second = put_rules(code, rules + n_first, n - n_first, outside, false);
        place = put_rules(code, rules, n_first, outside, true);
        return test_prefix(code, &first, place, second);
    }
    place = put_rules(code, rules + 1, n - 1, place_of(rules[0].verdict), false);
    return is_inside || place == outside ? place : test_prefix(code, &span, place, outside);
}

/* The kernel's 0.0.0.0/0 contains IPv4-mapped peers too, on which IPv6 prefixes must not decide. */
static int put_prefixes(struct byte_code *code, const struct prefix_set *set)
{
    const struct riptide_prefix any4 = { .family = AF_INET };
    int outside = place_of(set->verdict);
    int v6 = put_rules(code, set->rules + set->n4, set->n - set->n4, outside, false);
    int v4 = put_rules(code, set->rules, set->n4, outside, false);

    /* Peers that no IPv4 prefix contains go to `outside`, of either family. */
    if (v6 == outside || v6 == v4)
        return v4;
    return test_prefix(code, &any4, v4, v6);
}

/* The cheapest tests come first, so they are written last. */
static void compile(struct filter *filter)
{
    const struct riptide_scope *scope = filter->scope;
    struct byte_code *code = &filter->code;
    int place = PLACE_ACCEPT;

    code->end = filter->buffer + FILTER_MAX_BYTES;
    if (!filter->is_partial)
        place = put_prefixes(code, &filter->prefixes);
    place = put_ports(code, INET_DIAG_BC_D_GE, scope->remote_ports, scope->n_remote_ports, place);
    place = put_ports(code, INET_DIAG_BC_S_GE, scope->local_ports, scope->n_local_ports, place);
    lead_to(code, place);
}

static int fill_prefixes(struct prefix_set *set, const struct riptide_scope *scope)
{
    int r = 0;

    set->verdict = scope->n_learn == 0;
    for (size_t i = 0; r == 0 && i < scope->n_learn; i++)
        r = prefix_set_add(set, &scope->learn[i], true);
    for (size_t i = 0; r == 0 && i < scope->n_exclude; i++)
        r = prefix_set_add(set, &scope->exclude[i], false);
    prefix_set_finish(set);
    return r;
}

int filter_init(struct filter *filter, const struct riptide_scope *scope)
{
    int r = fill_prefixes(&filter->prefixes, scope);

    filter->scope = scope;
    if (r < 0)
        return r;
    filter->buffer = malloc(FILTER_MAX_BYTES);
    if (!filter->buffer)
        return -ENOMEM;
    filter->is_partial = filter->prefixes.n > FILTER_MAX_PREFIXES;
    compile(filter);
    return 0;
}

void filter_deinit(struct filter *filter)
{
    prefix_set_deinit(&filter->prefixes);
    free(filter->buffer);
}

const void *filter_get(const struct filter *filter, size_t *n_bytesp)
{
    *n_bytesp = (size_t)filter->code.n_bytes;
    return filter->code.end - filter->code.n_bytes;
}

bool filter_matches(const struct filter *filter, const struct riptide_sample *sample)
{
    return scope_admits(filter->scope, sample) &&
           prefix_set_decide(&filter->prefixes, &sample->dst);
}
