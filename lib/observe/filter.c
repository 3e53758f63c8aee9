/* SPDX-License-Identifier: MIT */
/*
 * The scope as byte code: chains of tests, of local ports, of remote ones, then of prefixes, the
 * longest of nested ones first. The code is written from its last test to its first, because the
 * kernel allows only forward jumps: so the target of each part is known, and is an argument.
 */
#include "observe/filter.h"

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

/* With the jump behind each of them. */
enum {
    JUMP_BYTES = sizeof(struct inet_diag_bc_op),
    PREFIX_TEST_BYTES = 2 * JUMP_BYTES + sizeof(struct inet_diag_hostcond) + 16,
    RANGE_TEST_BYTES = 5 * JUMP_BYTES,
};

/* One more prefix parts the families. */
_Static_assert((FILTER_MAX_PREFIXES + 1) * PREFIX_TEST_BYTES + JUMP_BYTES +
                       2 * FILTER_MAX_PORT_RANGES * RANGE_TEST_BYTES <=
                   FILTER_MAX_BYTES,
               "the largest scope does not fit");

/*
 * Puts an operation in front: a socket that passes it goes on with the former front, any other one
 * at `otherwise`. The kernel's audit walks from one operation to the next by `yes`, and allows a
 * `no` only to one of those or to the end: hence `yes` is always the length of the operation, and
 * `no` has all choices.
 */
static void push(struct filter *filter, uint8_t opcode, const void *payload, size_t n,
                 int otherwise)
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
}

static void jump(struct filter *filter, int place)
{
    push(filter, INET_DIAG_BC_JMP, NULL, 0, place);
}

static int place_of(bool verdict)
{
    return verdict ? PLACE_ACCEPT : PLACE_REJECT;
}

/* Puts a test in front: sockets with such a peer are decided, others go on with the former front. */
static void put_prefix(struct filter *filter, const struct riptide_prefix *dst, bool verdict)
{
    struct inet_diag_hostcond condition;
    unsigned char payload[sizeof(condition) + sizeof(dst->addr)];
    int otherwise = filter->n_bytes;

    /* Clears padding as well, as all bytes go to the kernel. */
    memset(&condition, 0, sizeof(condition));
    condition.family = dst->family;
    condition.prefix_len = dst->len;
    condition.port = -1;
    memcpy(payload, &condition, sizeof(condition));
    memcpy(payload + sizeof(condition), dst->addr, sizeof(dst->addr));
    jump(filter, place_of(verdict));
    push(filter, INET_DIAG_BC_D_COND, payload,
         sizeof(condition) + prefix_family_bits(dst->family) / 8, otherwise);
}

/* The kernel's 0.0.0.0/0 contains IPv4-mapped peers too, on which IPv6 prefixes must not decide. */
static void put_prefixes(struct filter *filter)
{
    const struct prefix_set *set = &filter->prefixes;
    const struct riptide_prefix any4 = { .family = AF_INET };

    if (!set->verdict)
        jump(filter, PLACE_REJECT);
    /* In their order each is before those inside it, which so are tested before it. */
    for (uint32_t i = set->n4; i < set->n; i++)
        put_prefix(filter, &set->rules[i].prefix, set->rules[i].verdict);
    if (set->n > set->n4)
        put_prefix(filter, &any4, set->verdict);
    for (uint32_t i = 0; i < set->n4; i++)
        put_prefix(filter, &set->rules[i].prefix, set->rules[i].verdict);
}

/* A limit of a port is `no` of a second operation. */
static void put_ports(struct filter *filter, uint8_t at_least, uint8_t at_most,
                      const struct ports *ports)
{
    int inside = filter->n_bytes, otherwise = PLACE_REJECT;

    for (size_t i = 0; i < ports->n; i++) {
        const struct inet_diag_bc_op first = { .no = ports->ranges[i].first },
                                     last = { .no = ports->ranges[i].last };

        if (i > 0)
            jump(filter, inside);
        push(filter, at_most, &last, sizeof(last), otherwise);
        push(filter, at_least, &first, sizeof(first), otherwise);
        otherwise = filter->n_bytes;
    }
}

static bool contains(const struct ports *ports, uint16_t port)
{
    for (size_t i = 0; i < ports->n; i++) {
        if (ports->ranges[i].first <= port && port <= ports->ranges[i].last)
            return true;
    }
    return ports->n == 0;
}

static int copy_ports(struct ports *copy, const struct riptide_port_range *ranges, size_t n)
{
    copy->ranges = calloc(n ? n : 1, sizeof(*ranges));
    if (!copy->ranges)
        return -ENOMEM;
    if (n > 0)
        memcpy(copy->ranges, ranges, n * sizeof(*ranges));
    copy->n = n;
    return 0;
}

int filter_init(struct filter *filter, const struct riptide_scope *scope)
{
    struct prefix_set *set = &filter->prefixes;
    int r = copy_ports(&filter->local, scope->local_ports, scope->n_local_ports);

    if (r == 0)
        r = copy_ports(&filter->remote, scope->remote_ports, scope->n_remote_ports);
    set->verdict = scope->n_learn == 0;
    for (size_t i = 0; r == 0 && i < scope->n_learn; i++)
        r = prefix_set_add(set, &scope->learn[i], true);
    for (size_t i = 0; r == 0 && i < scope->n_exclude; i++)
        r = prefix_set_add(set, &scope->exclude[i], false);
    if (r < 0)
        return r;
    prefix_set_finish(set);
    filter->is_partial = set->n > FILTER_MAX_PREFIXES;
    /* The cheapest tests come first, so they are written last. */
    if (!filter->is_partial)
        put_prefixes(filter);
    put_ports(filter, INET_DIAG_BC_D_GE, INET_DIAG_BC_D_LE, &filter->remote);
    put_ports(filter, INET_DIAG_BC_S_GE, INET_DIAG_BC_S_LE, &filter->local);
    return 0;
}

void filter_deinit(struct filter *filter)
{
    prefix_set_deinit(&filter->prefixes);
    free(filter->local.ranges);
    free(filter->remote.ranges);
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
