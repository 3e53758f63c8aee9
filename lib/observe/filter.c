/* SPDX-License-Identifier: MIT */
/*
 * Sets of prefixes and of ports become binary decisions, not chains: a socket passes as many tests
 * as the set has bits of choice. The code is written from its last test to its first, because the
 * kernel allows only forward jumps: so the target of each part is known, and is an argument.
 */
#include "observe/filter.h"

#include "prefix.h"

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
                       4 * FILTER_MAX_PORT_RANGES * PORT_TEST_BYTES +
                       sizeof(struct inet_diag_bc_op) <=
                   FILTER_MAX_BYTES,
               "the largest scope does not fit");

/*
 * Puts an operation in front: a socket that passes it goes on with the former front, any other one
 * at `otherwise`. Returns the new front. The kernel's audit walks from one operation to the next by
 * `yes`, and allows a `no` only to one of those or to the end: hence `yes` is always the length of
 * the operation, and `no` has all choices.
 */
static int push(struct filter *filter, uint8_t opcode, const void *payload, size_t n, int otherwise)
{
    int op_bytes = (int)(sizeof(struct inet_diag_bc_op) + n);
    struct inet_diag_bc_op op = { .code = opcode, .yes = (uint8_t)op_bytes };
    unsigned char *front;

    filter->n_bytes += op_bytes;
    front = filter->code + FILTER_MAX_BYTES - filter->n_bytes;
    op.no = (uint16_t)(filter->n_bytes - otherwise);
    memcpy(front, &op, sizeof(op));
    if (n > 0)
        memcpy(front + sizeof(op), payload, n);
    return filter->n_bytes;
}

/* Puts a jump to that place in front, unless the front is that place. */
static void lead_to(struct filter *filter, int place)
{
    if (filter->n_bytes != place)
        push(filter, INET_DIAG_BC_JMP, NULL, 0, place);
}

/* Puts a test in front of that place. */
static int test_prefix(struct filter *filter, const struct riptide_prefix *dst, int place,
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
    lead_to(filter, place);
    return push(filter, INET_DIAG_BC_D_COND, payload,
                sizeof(condition) + prefix_family_bits(dst->family) / 8, otherwise);
}

static bool contains(const struct ports *ports, uint32_t port)
{
    for (size_t i = 0; i < ports->n; i++) {
        if (ports->ranges[i].first <= port && port <= ports->ranges[i].last)
            return true;
    }
    return ports->n == 0;
}

/*
 * Sockets with a port from first to last that is in a range go on at `inside`. Split where a range
 * begins or ends, as near to the middle as possible, so that sockets pass few tests.
 */
static int put_ports(struct filter *filter, uint8_t opcode, const struct ports *ports,
                     uint32_t first, uint32_t last, int inside)
{
    int middle = (int)(first + last) / 2, low, high;
    struct inet_diag_bc_op operand = { .no = 0 };
    uint32_t cut = 0;

    for (size_t i = 0; i < 2 * ports->n; i++) {
        const struct riptide_port_range *range = &ports->ranges[i / 2];
        uint32_t port = i % 2 ? range->last + UINT32_C(1) : range->first;

        if (port > first && port <= last &&
            (cut == 0 || abs((int)port - middle) < abs((int)cut - middle)))
            cut = port;
    }
    if (cut == 0)
        return contains(ports, first) ? inside : PLACE_REJECT;
    low = put_ports(filter, opcode, ports, first, cut - 1, inside);
    high = put_ports(filter, opcode, ports, cut, last, inside);
    if (low == high)
        return low;
    /* Whether the port is at least that, as `no` of a second operation. */
    operand.no = (uint16_t)cut;
    lead_to(filter, high);
    return push(filter, opcode, &operand, sizeof(operand), low);
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

/*
 * Sockets that no rule contains go to `outside`. `is_inside`: they are known to be inside the span
 * of the rules.
 */
static int put_rules(struct filter *filter, const struct prefix_rule *rules, uint32_t n,
                     int outside, bool is_inside)
{
    struct riptide_prefix span, first;
    uint32_t n_first = 0;
    int place, second;

    if (n == 0)
        return outside;
    span = span_of(rules, n);
    if (span.len < rules[0].prefix.len) {
        while (!bit_of(&rules[n_first].prefix, span.len))
            n_first++;
        first = span_of(rules, n_first);
        second = put_rules(filter, rules + n_first, n - n_first, outside, false);
        place = put_rules(filter, rules, n_first, outside, true);
        return test_prefix(filter, &first, place, second);
    }
    place = put_rules(filter, rules + 1, n - 1, place_of(rules[0].verdict), false);
    return is_inside || place == outside ? place : test_prefix(filter, &span, place, outside);
}

/* The kernel's 0.0.0.0/0 contains IPv4-mapped peers too, on which IPv6 prefixes must not decide. */
static int put_prefixes(struct filter *filter)
{
    const struct prefix_set *set = &filter->prefixes;
    const struct riptide_prefix any4 = { .family = AF_INET };
    int outside = place_of(set->verdict);
    int v6 = put_rules(filter, set->rules + set->n4, set->n - set->n4, outside, false);
    int v4 = put_rules(filter, set->rules, set->n4, outside, false);

    /* Peers that no IPv4 prefix contains go to `outside`, of either family. */
    if (v6 == outside || v6 == v4)
        return v4;
    return test_prefix(filter, &any4, v4, v6);
}

static void copy_ports(struct ports *copy, const struct riptide_port_range *ranges, size_t n)
{
    for (; copy->n < n; copy->n++)
        copy->ranges[copy->n] = ranges[copy->n];
}

int filter_init(struct filter *filter, const struct riptide_scope *scope)
{
    int place = PLACE_ACCEPT;
    int r = prefix_set_init(&filter->prefixes, scope->learn, scope->n_learn, scope->exclude,
                            scope->n_exclude);

    if (r < 0)
        return r;
    copy_ports(&filter->local, scope->local_ports, scope->n_local_ports);
    copy_ports(&filter->remote, scope->remote_ports, scope->n_remote_ports);
    filter->is_partial = filter->prefixes.n > FILTER_MAX_PREFIXES;
    /* The cheapest tests come first, so they are written last. */
    if (!filter->is_partial)
        place = put_prefixes(filter);
    place = put_ports(filter, INET_DIAG_BC_D_GE, &filter->remote, 0, UINT16_MAX, place);
    place = put_ports(filter, INET_DIAG_BC_S_GE, &filter->local, 0, UINT16_MAX, place);
    lead_to(filter, place);
    return 0;
}

void filter_deinit(struct filter *filter)
{
    prefix_set_deinit(&filter->prefixes);
}

const void *filter_get(const struct filter *filter, size_t *n_bytesp)
{
    *n_bytesp = (size_t)filter->n_bytes;
    return filter->code + FILTER_MAX_BYTES - filter->n_bytes;
}

bool filter_matches(const struct filter *filter, const struct riptide_sample *sample)
{
    return contains(&filter->local, sample->local_port) &&
           contains(&filter->remote, sample->remote_port) &&
           prefix_set_decide(&filter->prefixes, &sample->dst);
}
